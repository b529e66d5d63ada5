// Package kubernetes takes the place of client-go's: a clientset with the groups that the chapters and
// the playground use. The original links the clients and types of 50.
package kubernetes

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	admissionregistrationv1 "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	appsv1 "k8s.io/client-go/kubernetes/typed/apps/v1"
	batchv1 "k8s.io/client-go/kubernetes/typed/batch/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// Interface has a client for each group.
type Interface interface {
	AdmissionregistrationV1() admissionregistrationv1.AdmissionregistrationV1Interface
	AppsV1() appsv1.AppsV1Interface
	BatchV1() batchv1.BatchV1Interface
	CoordinationV1() coordinationv1.CoordinationV1Interface
	CoreV1() corev1.CoreV1Interface
}

// Clientset has a client for each group.
type Clientset struct {
	admissionregistration *admissionregistrationv1.AdmissionregistrationV1Client
	apps                  *appsv1.AppsV1Client
	batch                 *batchv1.BatchV1Client
	coordination          *coordinationv1.CoordinationV1Client
	core                  *corev1.CoreV1Client
}

// AdmissionregistrationV1 returns the client of the group.
func (c *Clientset) AdmissionregistrationV1() admissionregistrationv1.AdmissionregistrationV1Interface {
	return c.admissionregistration
}

// AppsV1 returns the client of the group.
func (c *Clientset) AppsV1() appsv1.AppsV1Interface { return c.apps }

// BatchV1 returns the client of the group.
func (c *Clientset) BatchV1() batchv1.BatchV1Interface { return c.batch }

// CoordinationV1 returns the client of the group.
func (c *Clientset) CoordinationV1() coordinationv1.CoordinationV1Interface { return c.coordination }

// CoreV1 returns the client of the group.
func (c *Clientset) CoreV1() corev1.CoreV1Interface { return c.core }

// NewForConfig returns clients that share a connection, and a limit on requests per second if the
// configuration has one.
func NewForConfig(config *rest.Config) (*Clientset, error) {
	config = rest.CopyConfig(config)
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	http, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	return NewForConfigAndClient(config, http)
}

// NewForConfigAndClient is NewForConfig with a connection.
func NewForConfigAndClient(config *rest.Config, http *http.Client) (*Clientset, error) {
	config = rest.CopyConfig(config)
	if config.ContentType == "" {
		config.ContentType = runtime.ContentTypeJSON // these clients would prefer protobuf
	}
	if config.RateLimiter == nil && config.QPS > 0 {
		if config.Burst <= 0 {
			return nil, fmt.Errorf("QPS is %v, so Burst must be greater than 0", config.QPS)
		}
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	c, err := &Clientset{}, error(nil)
	if c.admissionregistration, err = admissionregistrationv1.NewForConfigAndClient(config, http); err != nil {
		return nil, err
	}
	if c.apps, err = appsv1.NewForConfigAndClient(config, http); err != nil {
		return nil, err
	}
	if c.batch, err = batchv1.NewForConfigAndClient(config, http); err != nil {
		return nil, err
	}
	if c.coordination, err = coordinationv1.NewForConfigAndClient(config, http); err != nil {
		return nil, err
	}
	c.core, err = corev1.NewForConfigAndClient(config, http)
	return c, err
}

// NewForConfigOrDie is NewForConfig for a configuration that is known to be good.
func NewForConfigOrDie(config *rest.Config) *Clientset {
	c, err := NewForConfig(config)
	if err != nil {
		panic(err)
	}
	return c
}
