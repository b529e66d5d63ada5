package main

import (
	"context"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/loopwright/loopwright/cluster/controlplane/internal/part"
)

// startLimit is how long etcd may take to elect itself. It takes well under a
// second; a data directory that it cannot use makes it wait forever.
const startLimit = time.Minute

// runEtcd is an etcd of one member that only speaks to holders of a client
// certificate. It has no peers, and so no peer port.
func runEtcd() int {
	part.Begin()

	config := embed.NewConfig()
	flags := flag.NewFlagSet("etcd", flag.ExitOnError)
	listen := flags.String("listen", "", "URL to serve clients on, https://127.0.0.1:PORT")
	flags.StringVar(&config.Dir, "data-dir", "", "directory of the data")
	flags.StringVar(&config.ClientTLSInfo.CertFile, "cert-file", "", "the server's certificate")
	flags.StringVar(&config.ClientTLSInfo.KeyFile, "key-file", "", "the server's key")
	flags.StringVar(&config.ClientTLSInfo.TrustedCAFile, "trusted-ca-file", "", "CA that a client's certificate must come from")
	_ = flags.Parse(os.Args[1:])

	address, err := url.Parse(*listen)
	if err != nil || address.Scheme != "https" || config.Dir == "" {
		fmt.Fprintln(os.Stderr, "etcd needs --data-dir and --listen https://127.0.0.1:PORT")
		return 2
	}
	config.Name = "loopwright"
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ListenPeerUrls = nil
	config.ListenClientUrls = []url.URL{*address}
	config.AdvertiseClientUrls = []url.URL{*address}
	config.ClientTLSInfo.ClientCertAuth = true
	config.LogLevel = "warn"
	// etcd's own command sets this; embedded, 0 would have every request logged
	// as too slow.
	config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
	config.LogOutputs = []string{"stderr"}
	// The data need to outlive a killed process, not a power cut: without
	// fsync, starting and every write are several times as fast.
	config.UnsafeNoFsync = true

	server, err := embed.StartEtcd(config)
	if err != nil {
		fmt.Fprintf(os.Stderr, "starting etcd on %s: %v\n", config.Dir, err)
		return 1
	}
	defer server.Close()

	stop := make(chan os.Signal, 1) // one: the first signal is enough to stop
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT)
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 1
	case <-stop:
		return 0
	case <-time.After(startLimit):
		fmt.Fprintf(os.Stderr, "etcd was not ready after %s\n", startLimit)
		return 1
	}
	select {
	case <-stop:
		return 0
	case err := <-server.Err():
		fmt.Fprintf(os.Stderr, "etcd: %v\n", err)
		return 1
	}
}

// runCompact forgets the history of a running etcd up to now, as a production
// API server does every few minutes, and prints the revision. It lets a demo
// and a test make a resourceVersion too old on purpose.
func runCompact() int {
	var tls transport.TLSInfo
	flags := flag.NewFlagSet("compact", flag.ExitOnError)
	endpoint := flags.String("endpoint", "", "etcd's URL")
	flags.StringVar(&tls.CertFile, "cert-file", "", "the client's certificate")
	flags.StringVar(&tls.KeyFile, "key-file", "", "the client's key")
	flags.StringVar(&tls.TrustedCAFile, "trusted-ca-file", "", "CA that etcd's certificate must come from")
	_ = flags.Parse(os.Args[1:])

	revision, err := compact(*endpoint, tls)
	if err != nil {
		fmt.Fprintf(os.Stderr, "compacting etcd at %s: %v\n", *endpoint, err)
		return 1
	}
	fmt.Println(revision)
	return 0
}

func compact(endpoint string, tls transport.TLSInfo) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	clientTLS, err := tls.ClientConfig()
	if err != nil {
		return 0, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{endpoint}, TLS: clientTLS, DialTimeout: 5 * time.Second, Context: ctx,
	})
	if err != nil {
		return 0, err
	}
	defer func() { _ = client.Close() }()

	now, err := client.Get(ctx, "compact-asks-for-the-revision")
	if err != nil {
		return 0, err
	}
	_, err = client.Compact(ctx, now.Header.Revision)
	return now.Header.Revision, err
}
