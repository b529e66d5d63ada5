package cluster

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/loopwright/loopwright/internal/pki"
)

// renewal is how long before its certificates expire a cluster that starts again makes new ones.
const renewal = 30 * 24 * time.Hour

// serverHosts are the names of the API server, and of etcd: loopback, and what clients inside a
// cluster call it.
var serverHosts = []string{
	"127.0.0.1", "10.96.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
}

// Who trusts whom: one CA vouches for the API server and for its clients, a
// second one for etcd and for etcd's only client, the API server. So no
// certificate that a user of the cluster holds opens etcd.

// clients are the users that get a kubeconfig. Their rights come from the API
// server's own RBAC roles, kwok's from the role that up makes.
var clients = map[string]pkix.Name{
	"admin":                   {CommonName: "loopwright-admin", Organization: []string{"system:masters"}},
	"kube-controller-manager": {CommonName: "system:kube-controller-manager"},
	"kube-scheduler":          {CommonName: "system:kube-scheduler"},
	"kwok":                    {CommonName: kwokUser},
}

// writePKI makes all keys and certificates of a cluster. The CA's certificate is removed first and
// written last: while it's missing, keys that don't belong together aren't taken for a set, in case
// this process is killed halfway.
func writePKI(at place) error {
	ca, err := pki.NewCA("loopwright")
	if err != nil {
		return err
	}
	etcdCA, err := pki.NewCA("loopwright-etcd")
	if err != nil {
		return err
	}
	apiServer, err := ca.Server("kube-apiserver", serverHosts...)
	if err != nil {
		return err
	}
	etcdServer, err := etcdCA.Server("etcd", serverHosts...)
	if err != nil {
		return err
	}
	etcdClient, err := etcdCA.Client(pkix.Name{CommonName: "kube-apiserver"})
	if err != nil {
		return err
	}
	_, serviceAccountPEM, err := pki.NewKey()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(at.pki("ca.crt")); err != nil {
		return fmt.Errorf("making new keys: %w", err)
	}
	for file, content := range map[string][]byte{
		"ca.key": ca.KeyPEM, "etcd-ca.crt": etcdCA.CertPEM,
		"kube-apiserver.crt": apiServer.CertPEM, "kube-apiserver.key": apiServer.KeyPEM,
		"etcd-server.crt": etcdServer.CertPEM, "etcd-server.key": etcdServer.KeyPEM,
		"etcd-client.crt": etcdClient.CertPEM, "etcd-client.key": etcdClient.KeyPEM,
		"service-account.key": serviceAccountPEM,
	} {
		if err := privateFile(at.pki(file), content); err != nil {
			return err
		}
	}
	for name, subject := range clients {
		client, err := ca.Client(subject)
		if err != nil {
			return err
		}
		if err := writeKubeconfig(at.client(name), "", ca.CertPEM, client); err != nil {
			return err
		}
	}
	return privateFile(at.pki("ca.crt"), ca.CertPEM)
}

// pemFiles are the files of a complete set, besides the kubeconfigs.
var pemFiles = []string{
	"ca.crt", "ca.key", "etcd-ca.crt", "kube-apiserver.crt", "kube-apiserver.key", "etcd-server.crt",
	"etcd-server.key", "etcd-client.crt", "etcd-client.key", "service-account.key",
}

// pkiIsFresh reports whether all keys exist and are valid for a while yet. A power cut may have
// left empty files.
func pkiIsFresh(at place, now time.Time) bool {
	for _, file := range pemFiles {
		content, _ := os.ReadFile(at.pki(file))
		if block, _ := pem.Decode(content); block == nil {
			return false
		}
	}
	for name := range clients {
		if _, err := loadKubeconfig(at.client(name)); err != nil {
			return false
		}
	}
	content, err := os.ReadFile(at.pki("ca.crt"))
	if err != nil {
		return false
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return false
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	return err == nil && now.Add(renewal).Before(certificate.NotAfter)
}

// pointKubeconfigs writes the API server's address into every kubeconfig and puts the
// administrator's where kubectl's users look for it.
func pointKubeconfigs(at place, server string) error {
	for name := range clients {
		config, err := loadKubeconfig(at.client(name))
		if err != nil {
			return err
		}
		config.Clusters[kubeconfigName].Server = server
		path := at.client(name)
		if name == "admin" {
			path = at.kubeconfig()
		}
		content, err := clientcmd.Write(*config)
		if err != nil {
			return fmt.Errorf("writing %s: %w", path, err)
		}
		if err := privateFile(path, content); err != nil {
			return err
		}
	}
	return nil
}

func loadKubeconfig(path string) (*clientcmdapi.Config, error) {
	config, err := clientcmd.LoadFromFile(path)
	if err == nil && (config.Clusters[kubeconfigName] == nil || config.AuthInfos[kubeconfigName] == nil) {
		err = fmt.Errorf("it has no cluster and user named %s", kubeconfigName)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return config, nil
}

// kubeconfigName names cluster, user and context in a kubeconfig.
const kubeconfigName = "loopwright"

func writeKubeconfig(path, server string, caPEM []byte, client *pki.Pair) error {
	config := clientcmdapi.NewConfig()
	config.Clusters[kubeconfigName] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: caPEM}
	config.AuthInfos[kubeconfigName] = &clientcmdapi.AuthInfo{ClientCertificateData: client.CertPEM, ClientKeyData: client.KeyPEM}
	config.Contexts[kubeconfigName] = &clientcmdapi.Context{Cluster: kubeconfigName, AuthInfo: kubeconfigName}
	config.CurrentContext = kubeconfigName
	content, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return privateFile(path, content)
}
