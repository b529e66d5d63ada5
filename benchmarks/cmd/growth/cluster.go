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

// onCluster measures the start on a real API server, with the largest size that it gets. It has the objects of both kinds.
func (p *player) onCluster(ctx context.Context, run int) (err error) {
	size := 0
	for _, wanted := range p.sizes {
		if wanted <= mostOnCluster {
			size = wanted
		}
	}
	open := slices.DeleteFunc(cases(run, []int{size}, onCluster), func(c growth.Case) bool { return !p.isOpen(c) })
	if size == 0 || len(open) == 0 || ctx.Err() != nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	// No controller is needed, and each would take time and memory from what's measured.
	c, err := cluster.Up(limited, cluster.Options{Ephemeral: true, Parts: []cluster.Part{cluster.Etcd, cluster.APIServer}, Out: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Down(context.WithoutCancel(ctx))) }()
	config := c.RESTConfig()
	config.QPS = -1
	if err := installWidgets(limited, config); err != nil {
		return err
	}
	if err := p.create(limited, config, size); err != nil {
		return err
	}
	p.all(ctx, open, func(ctx context.Context, measured growth.Case) ([]growth.Result, error) {
		return p.process(ctx, measured, "-part", "measure", "-side", measured.Side, "-form", measured.Form,
			"-objects", fmt.Sprint(size), "-cluster-config", c.Kubeconfig, "-profile", p.profileOf(measured))
	})
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

// create creates the objects of both kinds, and the namespaces of each thousand.
func (p *player) create(ctx context.Context, config *rest.Config, objects int) error {
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
	for namespace := range (objects + 999) / 1000 {
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
	for begin := 0; begin < objects; begin += 1000 {
		if time.Since(said) > 20*time.Second {
			said = time.Now()
			fmt.Fprintf(p.out, "%8s  created %d of %d objects of each kind\n", time.Since(p.began).Round(time.Second), begin, objects)
		}
		err := inParallel(begin, min(begin+1000, objects), func(number int) error {
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
