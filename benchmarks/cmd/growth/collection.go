package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// collection answers watches of one kind the way an API server does that has WatchList, from a pattern: it keeps no object, and
// makes one in a microsecond. So a million objects cost the server nothing that the program under test would have to share.
type collection struct {
	form   form
	others http.Handler // answers all other requests, such as discovery

	encodings map[string]*encoding // by media type

	mu      sync.Mutex // guards what follows
	world   world
	expired chan struct{} // closed by next
}

// encoding is how the collection looks in a media type.
type encoding struct {
	info  runtime.SerializerInfo
	added pattern // the event that brings an object
}

func newCollection(f form, objects int, others http.Handler) (*collection, error) {
	c := &collection{form: f, others: others, encodings: map[string]*encoding{},
		world: world{objects: objects}, expired: make(chan struct{})}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		if mediaType == runtime.ContentTypeProtobuf && f.resource == widgets && f.name != "metadata" {
			continue // custom resources have no protobuf
		}
		info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		e := &encoding{info: info}
		added, err := e.event("ADDED", f.full())
		if err != nil {
			return nil, err
		}
		e.added = newPattern(added)
		c.encodings[mediaType] = e
	}
	return c, nil
}

// event is the frame of a watch's event.
func (e *encoding) event(what string, object runtime.Object) ([]byte, error) {
	raw, err := runtime.Encode(e.info.Serializer, object)
	if err != nil {
		return nil, err
	}
	event := &metav1.WatchEvent{Type: what, Object: runtime.RawExtension{Raw: raw}}
	frame, err := runtime.Encode(e.info.StreamSerializer.Serializer, event)
	if err != nil {
		return nil, err
	}
	var framed bytes.Buffer
	_, err = e.info.StreamSerializer.NewFrameWriter(&framed).Write(frame)
	return framed.Bytes(), err
}

func (e *encoding) isProtobuf() bool { return e.info.MediaType == runtime.ContentTypeProtobuf }

// next begins the next epoch. What a client knows of the one before is too old to watch on from.
func (c *collection) next() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.world.epoch++
	close(c.expired)
	c.expired = make(chan struct{})
}

// ServeHTTP implements http.Handler.
func (c *collection) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/next" {
		c.next()
		return
	}
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/"+c.form.resource.Resource) {
		c.others.ServeHTTP(w, r)
		return
	}
	e := c.encodings[runtime.ContentTypeJSON]
	if best := c.encodings[runtime.ContentTypeProtobuf]; best != nil && strings.HasPrefix(r.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		e = best
	}
	c.mu.Lock()
	now, expired := c.world, c.expired
	c.mu.Unlock()
	if r.URL.Query().Get("watch") == "" {
		http.Error(w, "this server answers a list by a watch only", http.StatusNotImplemented)
		return
	}
	mediaType := e.info.MediaType
	if e.isProtobuf() {
		mediaType += ";stream=watch"
	}
	w.Header().Set("Content-Type", mediaType)
	_ = c.watch(w, r, e, now, expired) // an error means that the client has gone
}

// all writes all objects that there are in a world.
func (p pattern) all(to io.Writer, in world) error {
	var object []byte
	for number := range in.end() {
		version := in.version(number)
		if version == 0 {
			continue
		}
		object = p.appendTo(object[:0], number, version)
		if _, err := to.Write(object); err != nil {
			return err
		}
	}
	return nil
}

func (c *collection) watch(w http.ResponseWriter, r *http.Request, e *encoding, now world, expired <-chan struct{}) error {
	out := bufio.NewWriterSize(w, 64<<10)
	send := func(what string, object runtime.Object) error {
		frame, err := e.event(what, object)
		if err == nil {
			_, err = out.Write(frame)
		}
		if err == nil {
			err = out.Flush()
		}
		w.(http.Flusher).Flush()
		return err
	}
	bookmark := func(annotations map[string]string) error {
		object := c.form.full()
		object.SetName("")
		object.SetNamespace("")
		object.SetResourceVersion(fmt.Sprint(now.now()))
		object.SetAnnotations(annotations)
		return send("BOOKMARK", object)
	}
	tooOld := apierrors.NewResourceExpired("an hour has passed").Status()
	tooOld.APIVersion, tooOld.Kind = "v1", "Status"
	query := r.URL.Query()
	if query.Get("sendInitialEvents") == "true" {
		if err := e.added.all(out, now); err != nil {
			return err
		}
		if err := bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"}); err != nil {
			return err
		}
	} else if query.Get("resourceVersion") != fmt.Sprint(now.now()) {
		return send("ERROR", &tooOld)
	}
	w.(http.Flusher).Flush()
	minutes := time.NewTicker(time.Minute)
	defer minutes.Stop()
	for {
		select {
		case <-minutes.C:
			if err := bookmark(nil); err != nil {
				return err
			}
		case <-expired:
			return send("ERROR", &tooOld)
		case <-r.Context().Done():
			return nil
		}
	}
}
