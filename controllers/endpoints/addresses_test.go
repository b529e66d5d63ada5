package endpoints

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func families(families ...corev1.IPFamily) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.IPFamilies = families }
}

// A client with IPv4 only would get an IPv6 address.
func TestTheAddressIsOfTheServicesFirstFamily(t *testing.T) {
	const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol
	clusterIP := func(ip string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Spec.ClusterIP = ip }
	}
	for _, c := range []struct {
		name    string
		service *corev1.Service
		ips     []string
		want    string
	}{
		{"one family", webService(), []string{"10.0.0.1"}, "10.0.0.1"},
		{"the Pod has both", webService(families(v6)), []string{"10.0.0.1", "fd00::1"}, "fd00::1"},
		{
			"the Service has both", webService(families(v6, v4)), []string{"10.0.0.1", "fd00::1"},
			"fd00::1",
		},
		{
			"the first of a family", webService(), []string{"fd00::1", "10.0.0.1", "10.0.0.2"},
			"10.0.0.1",
		},
		{"none of the family", webService(families(v6, v4)), []string{"10.0.0.1"}, ""},
		{
			"no family yet, but an address", webService(families(), clusterIP("fd00::9")),
			[]string{"10.0.0.1", "fd00::1"}, "fd00::1",
		},
		{
			"no family yet, but an address of the other", webService(families()),
			[]string{"fd00::1", "10.0.0.1"}, "10.0.0.1",
		},
		{
			"headless, without a family: what the Pod has", webService(headless, families()),
			[]string{"fd00::1", "10.0.0.1"}, "fd00::1",
		},
		{
			"no address at all: what the Pod has", webService(clusterIP(""), families()),
			[]string{"fd00::1", "10.0.0.1"}, "fd00::1",
		},
		{"zeros in front are left out", webService(), []string{"010.000.0.01"}, "10.0.0.1"},
		{
			"an IPv6 address is shortened", webService(families(v6)),
			[]string{"fd00:0:0:0:0:0:0:1"}, "fd00::1",
		},
		{
			"an IPv4 address in the form of IPv6", webService(), []string{"::ffff:10.0.0.1"},
			"10.0.0.1",
		},
		{"no address in the status", webService(), nil, ""},
		{"something else", webService(), []string{"web"}, ""},
		{"an address that the API server refuses", webService(), []string{"127.0.0.1"}, ""},
		{"another one", webService(), []string{"169.254.1.1"}, ""},
		{"another one", webService(), []string{"224.0.0.5"}, ""},
		{"another one", webService(), []string{"0.0.0.0"}, ""},
	} {
		address, ok := addressOf(c.service, runningPod(1, withIPs(c.ips...)))
		require.Equal(t, c.want, address.IP, c.name)
		require.Equal(t, c.want != "", ok, c.name)
	}
}

func TestAnAddressSaysWhoseItIs(t *testing.T) {
	pod := runningPod(1)
	address, _ := addressOf(webService(), pod)
	require.Equal(t, corev1.EndpointAddress{
		IP: "10.0.0.1", NodeName: new("n1"),
		TargetRef: &corev1.ObjectReference{
			Kind: "Pod", Namespace: "default", Name: "pod-1", UID: "pod-1",
		},
	}, address)
	pod.Spec.NodeName = ""
	address, _ = addressOf(webService(), pod)
	require.Nil(t, address.NodeName)
}

// Clients would not find a StatefulSet's Pod under its name, or would find another one.
func TestAPodHasAHostnameInTheServiceThatItNames(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*corev1.Pod)
		want   string
	}{
		{"its subdomain is the Service", func(p *corev1.Pod) {
			p.Spec.Hostname, p.Spec.Subdomain = "web-0", "web"
		}, "web-0"},
		{"its subdomain is another Service", func(p *corev1.Pod) {
			p.Spec.Hostname, p.Spec.Subdomain = "web-0", "db"
		}, ""},
		{"it has no subdomain", func(p *corev1.Pod) { p.Spec.Hostname = "web-0" }, ""},
		{"it has no hostname", func(p *corev1.Pod) { p.Spec.Subdomain = "web" }, ""},
		{"it is in another namespace", func(p *corev1.Pod) {
			p.Spec.Hostname, p.Spec.Subdomain, p.Namespace = "web-0", "web", "other"
		}, ""},
	} {
		address, _ := addressOf(webService(), runningPod(1, c.change))
		require.Equal(t, c.want, address.Hostname, c.name)
	}
}

func TestPortsAreResolvedInEachPod(t *testing.T) {
	named := func(name string, number int32, protocol corev1.Protocol) []corev1.ContainerPort {
		return []corev1.ContainerPort{
			{Name: "other", ContainerPort: 1, Protocol: protocol},
			{Name: name, ContainerPort: number, Protocol: protocol},
		}
	}
	init := func(policy *corev1.ContainerRestartPolicy) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = nil
			p.Spec.InitContainers = []corev1.Container{
				{Name: "first"},
				{
					Name: "side", RestartPolicy: policy,
					Ports: named("http", 7000, corev1.ProtocolTCP),
				},
			}
		}
	}
	for _, c := range []struct {
		name   string
		target intstr.IntOrString
		change func(*corev1.Pod)
		want   []int32
	}{
		{"a name", intstr.FromString("http"), nil, []int32{8080}},
		{"a name that no container knows", intstr.FromString("web"), nil, nil},
		{"a number that no container knows", intstr.FromInt32(5), nil, []int32{5}},
		{"a name with another protocol", intstr.FromString("http"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports[0].Protocol = corev1.ProtocolUDP
		}, nil},
		{"the first of two containers", intstr.FromString("http"), func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers,
				corev1.Container{Ports: named("http", 9000, corev1.ProtocolTCP)})
		}, []int32{8080}},
		{"a later container", intstr.FromString("http"), func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = nil
			p.Spec.Containers = append(p.Spec.Containers,
				corev1.Container{Ports: named("http", 9000, corev1.ProtocolTCP)})
		}, []int32{9000}},
		{
			"a sidecar", intstr.FromString("http"), init(new(corev1.ContainerRestartPolicyAlways)),
			[]int32{7000},
		},
		{"the second of two sidecars", intstr.FromString("http"), func(p *corev1.Pod) {
			init(new(corev1.ContainerRestartPolicyAlways))(p)
			p.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}, []int32{7000}},
		{"an init container, which ends", intstr.FromString("http"), init(nil), nil},
		{
			"an init container that is tried again", intstr.FromString("http"),
			init(new(corev1.ContainerRestartPolicyOnFailure)), nil,
		},
		{"a container before a sidecar", intstr.FromString("http"), func(p *corev1.Pod) {
			init(new(corev1.ContainerRestartPolicyAlways))(p)
			p.Spec.Containers[0].Ports = named("http", 8081, corev1.ProtocolTCP)
		}, []int32{8081}},
	} {
		service := webService(func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = c.target })
		pod := runningPod(1)
		if c.change != nil {
			c.change(pod)
		}
		var got []int32
		for _, p := range portsOf(service, pod) {
			got = append(got, p.Port)
		}
		require.Equal(t, c.want, got, c.name)
	}
}

func TestAPortKeepsWhatTheServiceSaysAboutIt(t *testing.T) {
	service := webService(func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{
			{
				Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP,
				TargetPort: intstr.FromInt32(5353),
			},
			{
				Name: "api", Port: 443, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromString("absent"),
			},
			{
				Name: "web", Port: 80, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromString("http"), AppProtocol: new("kubernetes.io/h2c"),
			},
		}
	})
	require.Equal(t, []corev1.EndpointPort{
		{Name: "dns", Port: 5353, Protocol: corev1.ProtocolUDP},
		{
			Name: "web", Port: 8080, Protocol: corev1.ProtocolTCP,
			AppProtocol: new("kubernetes.io/h2c"),
		},
	}, portsOf(service, runningPod(1)))
}
