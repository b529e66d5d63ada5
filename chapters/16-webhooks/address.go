package main

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/cluster"
	"github.com/loopwright/loopwright/internal/demo"
)

// hostVariable names the host at which the API server can reach this program, if the demo does not find out.
const hostVariable = "WEBHOOK_HOST"

// place is where a webhook server listens, and what the API server calls it.
type place struct{ listen, host string }

// placeFor chooses where to serve webhooks.
//
// The embedded API server is on this machine, and uses loopback. That of kind is in a container, where loopback is the
// container itself. On Linux, this machine is in the network of its containers, so one of its addresses is
// near to that of a node. Docker Desktop, on other systems, calls this machine host.docker.internal, and leads to loopback.
// Of any other cluster the demo knows nothing.
func placeFor(mode cluster.Mode, chosen string, nodes []netip.Addr, interfaces []netip.Prefix) (place, error) {
	if chosen != "" {
		return place{listen: "", host: chosen}, nil
	}
	if mode == cluster.Embedded {
		return place{listen: "127.0.0.1", host: "127.0.0.1"}, nil
	}
	for _, network := range interfaces {
		for _, node := range nodes {
			if network.Contains(node) {
				host := network.Addr().String()
				return place{listen: host, host: host}, nil
			}
		}
	}
	if mode == cluster.Kind {
		return place{listen: "127.0.0.1", host: "host.docker.internal"}, nil
	}
	return place{}, fmt.Errorf("the API server calls this program, and it is not known at which address: "+
		"set %s to a name or an address of this machine that the API server can reach", hostVariable)
}

// unreachable explains what to do if the API server cannot connect.
func unreachable(address string, err error) error {
	return fmt.Errorf("the API server does not reach this program at %s: set %s to a name or an address of this machine at which it can, "+
		"and see that no firewall is in the way: %w", address, hostVariable, err)
}

// findPlace asks the cluster and this machine for what placeFor needs to know.
func findPlace(ctx context.Context, d *demo.Demo) (place, error) {
	chosen := os.Getenv(hostVariable)
	if d.Cluster.Mode == cluster.Embedded || chosen != "" {
		return placeFor(d.Cluster.Mode, chosen, nil, nil)
	}
	list, err := d.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return place{}, fmt.Errorf("looking for the addresses of the nodes: %w", err)
	}
	var nodes []netip.Addr
	for _, node := range list.Items {
		for _, address := range node.Status.Addresses {
			if parsed, err := netip.ParseAddr(address.Address); err == nil && address.Type == corev1.NodeInternalIP {
				nodes = append(nodes, parsed)
			}
		}
	}
	own, err := net.InterfaceAddrs()
	if err != nil {
		return place{}, fmt.Errorf("looking for the addresses of this machine: %w", err)
	}
	var interfaces []netip.Prefix
	for _, address := range own {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			interfaces = append(interfaces, prefix)
		}
	}
	return placeFor(d.Cluster.Mode, chosen, nodes, interfaces)
}
