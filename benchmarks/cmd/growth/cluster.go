package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
	"github.com/loopwright/loopwright/benchmarks/growth"
	"github.com/loopwright/loopwright/cluster"
)

// mostOnCluster is how many objects of each kind a real server gets: it needs a millisecond to create one.
const mostOnCluster = 100_000

// onCluster measures the start on a real API server, which has both kinds: more of them for each size.
func (p *player) onCluster(ctx context.Context, run int) (err error) {
	small := p.settings
	small.sizes = slices.DeleteFunc(slices.Clone(p.sizes), func(size int) bool { return size > mostOnCluster })
	cases := small.cases(run, onCluster)
	if !slices.ContainsFunc(cases, p.isOpen) || ctx.Err() != nil {
		return nil
	}
	// No controller is needed, and each would take time and memory from what's measured.
	c, err := cluster.Up(ctx, cluster.Options{Ephemeral: true, Parts: []cluster.Part{cluster.Etcd, cluster.APIServer}, Out: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Down(context.WithoutCancel(ctx))) }()
	config := c.RESTConfig()
	config.QPS = -1
	if err := installWidgets(ctx, config); err != nil {
		return err
	}
	created := 0
	for _, size := range small.sizes {
		if err := p.create(ctx, config, created, size); err != nil {
			return err
		}
		created = size
		ofSize := slices.DeleteFunc(slices.Clone(cases), func(c growth.Case) bool { return c.Objects != size })
		p.all(ctx, ofSize, func(ctx context.Context, measured growth.Case) ([]growth.Result, error) {
			return p.process(ctx, measured, "-part", "measure", "-side", measured.Side, "-form", measured.Form,
				"-objects", fmt.Sprint(size), "-cluster-config", c.Kubeconfig, "-profile", p.profileOf(measured))
		})
	}
	return nil
}

func installWidgets(ctx context.Context, config *rest.Config) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	definitions := metav1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	definitions.Group = "apiextensions.k8s.io"
	if _, err := client.Resource(definitions).Create(ctx, wire.Definition(), metav1.CreateOptions{}); err != nil {
		return err
	}
	for {
		_, err := client.Resource(widgets).List(ctx, metav1.ListOptions{Limit: 1})
		if !apierrors.IsNotFound(err) {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// create creates the objects of both kinds with the numbers from the one up to the other, and the namespaces of each thousand.
func (p *player) create(ctx context.Context, config *rest.Config, from, to int) error {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	post := func(path string, body []byte) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, config.Host+path, bytes.NewReader(body))
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", runtime.ContentTypeJSON)
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(response.Body)
		if err == nil && response.StatusCode != http.StatusCreated && response.StatusCode != http.StatusConflict {
			err = fmt.Errorf("creating an object of %s: %s", path, answer)
		}
		return errors.Join(err, response.Body.Close())
	}
	for namespace := from / 1000; namespace <= (to-1)/1000; namespace++ {
		name := namespaceOf(namespace * 1000)
		if err := post("/api/v1/namespaces", fmt.Appendf(nil, `{"metadata":{"name":%q}}`, name)); err != nil {
			return err
		}
	}
	kinds := []struct {
		version, resource string
		object            pattern
	}{{"/apis/" + wire.Widgets.String(), widgets.Resource, newObject(fullWidget())}, {"/api/v1", pods.Resource, newObject(fullPod())}}
	said := time.Now()
	for begin := from; begin < to; begin += 1000 {
		if time.Since(said) > 20*time.Second {
			said = time.Now()
			fmt.Fprintf(p.out, "%8s  %d objects of each kind were created\n", time.Since(p.began).Round(time.Second), begin)
		}
		err := inParallel(begin, min(begin+1000, to), func(number int) error {
			for _, kind := range kinds {
				collection := path.Join(kind.version, "namespaces", namespaceOf(number), kind.resource)
				if err := post(collection, kind.object.appendTo(nil, number, 0)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// newObject is what a user sends: without what only the API server decides.
func newObject(of object) pattern {
	of.SetResourceVersion("")
	of.SetUID("")
	of.SetManagedFields(nil)
	encoded, err := json.Marshal(of)
	if err != nil {
		panic(err) // it's our own type
	}
	return newPattern(encoded)
}

// inParallel does something for each number, sixteen at a time.
func inParallel(from, to int, do func(int) error) error {
	numbers, failed := make(chan int), make([]error, to-from)
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for number := range numbers {
				failed[number-from] = do(number)
			}
		})
	}
	for number := from; number < to; number++ {
		numbers <- number
	}
	close(numbers)
	workers.Wait()
	return errors.Join(failed...)
}
