package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
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

// collection answers lists and watches of one kind the way an API server does, from a pattern: it keeps no object, and makes
// one in a microsecond. So a million objects cost the server nothing that the program under test would have to share.
type collection struct {
	form    form
	streams bool         // answers a list by a watch (WatchList), if the client wants that
	others  http.Handler // answers all other requests, such as discovery

	encodings map[string]*encoding // by media type

	mu      sync.Mutex // guards what follows
	world   world
	expired chan struct{} // closed by next
}

// encoding is how the collection looks in a media type.
type encoding struct {
	info  runtime.SerializerInfo
	item  pattern // in a list
	added pattern // as a watch's event
}

func newCollection(f form, objects int, streams bool, others http.Handler) (*collection, error) {
	c := &collection{form: f, streams: streams, others: others, encodings: map[string]*encoding{},
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
		item, err := e.encodeItem(f.full())
		if err != nil {
			return nil, err
		}
		e.item, e.added = newPattern(item), newPattern(added)
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

// encodeItem is an item of a list, with what separates it from others.
func (e *encoding) encodeItem(object runtime.Object) ([]byte, error) {
	if !e.isProtobuf() {
		item, err := runtime.Encode(e.info.Serializer, object)
		return append(bytes.TrimSpace(item), ','), err
	}
	item, err := object.(interface{ Marshal() ([]byte, error) }).Marshal()
	return append(binary.AppendUvarint([]byte{itemsTag}, uint64(len(item))), item...), err
}

// The numbers of the fields of every list in protobuf: 1 is the metadata, and 2 the items; both have a length.
const metadataTag, itemsTag = 1<<3 | 2, 2<<3 | 2

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
	query := r.URL.Query()
	streams := query.Get("sendInitialEvents") == "true"
	switch {
	case streams && !c.streams:
		refuse(w)
	case query.Get("watch") == "":
		w.Header().Set("Content-Type", e.info.MediaType)
		_ = c.list(w, e, now) // an error means that the client has gone
	default:
		mediaType := e.info.MediaType
		if e.isProtobuf() {
			mediaType += ";stream=watch"
		}
		w.Header().Set("Content-Type", mediaType)
		_ = c.watch(w, r, e, now, expired)
	}
}

// refuse answers like a server that doesn't know WatchList.
func refuse(w http.ResponseWriter) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(http.StatusUnprocessableEntity)
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"},
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity})
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

// list writes all objects as one answer, as the API server does for a client that accepts what is in its cache.
func (c *collection) list(w io.Writer, e *encoding, now world) error {
	out := bufio.NewWriterSize(w, 64<<10)
	write := e.listJSON
	if e.isProtobuf() {
		write = e.listProtobuf
	}
	kind := c.form.full().GetObjectKind().GroupVersionKind()
	if err := write(out, now, runtime.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind + "List"}); err != nil {
		return err
	}
	return out.Flush()
}

func (e *encoding) listJSON(out *bufio.Writer, now world, of runtime.TypeMeta) error {
	_, err := fmt.Fprintf(out, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`, of.Kind, of.APIVersion, now.now())
	if err != nil {
		return err
	}
	if err := e.item.all(&withoutLastComma{to: out}, now); err != nil {
		return err
	}
	_, err = out.WriteString("]}")
	return err
}

// withoutLastComma holds each comma back until something follows it.
type withoutLastComma struct {
	to    *bufio.Writer
	comma bool
}

func (w *withoutLastComma) Write(item []byte) (int, error) {
	if w.comma {
		if err := w.to.WriteByte(','); err != nil {
			return 0, err
		}
	}
	w.comma = true
	_, err := w.to.Write(item[:len(item)-1])
	return len(item), err
}

// listProtobuf writes the length of the list first, which is that of all its objects.
func (e *encoding) listProtobuf(out *bufio.Writer, now world, of runtime.TypeMeta) error {
	meta, err := (&metav1.ListMeta{ResourceVersion: fmt.Sprint(now.now())}).Marshal()
	if err != nil {
		return err
	}
	head := append(binary.AppendUvarint([]byte{metadataTag}, uint64(len(meta))), meta...)
	objects := now.end()
	for number := range now.end() {
		if now.version(number) == 0 {
			objects--
		}
	}
	length := len(head) + objects*len(e.item.encoded)
	if _, err := out.WriteString("k8s\x00"); err != nil {
		return err
	}
	_, err = (&runtime.Unknown{TypeMeta: of}).MarshalToWriter(out, length, func(out io.Writer) (int, error) {
		if _, err := out.Write(head); err != nil {
			return 0, err
		}
		return length, e.item.all(out, now)
	})
	return err
}
