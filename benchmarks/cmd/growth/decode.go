package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/loopwright/loopwright/benchmarks/client/wire"
)

// measureDecoding is the process of the limit: what apimachinery's decoder needs for the objects themselves. It keeps them in a
// slice, and does nothing else. Only the decoder's time counts: what has come through the connection is in memory by then.
func measureDecoding(f form, objects int, server string) error {
	mediaType := kruntime.ContentTypeProtobuf
	if f.resource == widgets && f.name != "metadata" {
		mediaType = kruntime.ContentTypeJSON
	}
	frames, err := openWatch(server, f, mediaType)
	if err != nil {
		return err
	}
	defer func() { _ = frames.Close() }()
	kept := make([]object, objects)
	decode := decoderOf(f, mediaType)
	before := liveHeap()
	var took, tookCPU time.Duration
	chunk := make([][]byte, 0, 1000)
	for done := 0; done < objects; {
		chunk = chunk[:0]
		for range min(cap(chunk), objects-done) {
			raw, err := frames.next()
			if err != nil {
				return fmt.Errorf("reading object %d: %w", done+len(chunk), err)
			}
			chunk = append(chunk, raw)
		}
		clock := startClock()
		for _, raw := range chunk {
			if kept[done], err = decode(raw); err != nil {
				return fmt.Errorf("decoding object %d: %w", done, err)
			}
			done++
		}
		took, tookCPU = took+clock.time(), tookCPU+clock.processorTime()
	}
	tell("all-sec", took.Seconds())
	tell("all-cpu-sec", tookCPU.Seconds())
	chunk = nil
	tell("object-B", (liveHeap()-before)/float64(objects))
	tell("rss-B", restingMemory())
	runtime.KeepAlive(kept)
	return nil
}

// decoderOf returns a function that makes an object of its bytes.
func decoderOf(f form, mediaType string) func([]byte) (object, error) {
	codecs := serializer.NewCodecFactory(wire.Scheme)
	if f.name == "metadata" {
		names := kruntime.NewScheme()
		if err := metav1.AddMetaToScheme(names); err != nil {
			panic(err)
		}
		codecs = serializer.NewCodecFactory(names)
	}
	info, _ := kruntime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	decoder := kruntime.Decoder(info.Serializer)
	return func(raw []byte) (object, error) {
		decoded, _, err := decoder.Decode(raw, nil, nil)
		if err != nil {
			return nil, err
		}
		return decoded.(object), nil
	}
}

// frames are the events of a watch.
type frames struct {
	io.ReadCloser
	events kruntime.Decoder
	buffer []byte
}

func openWatch(server string, f form, mediaType string) (*frames, error) {
	path := "/apis/" + f.resource.Group + "/" + f.resource.Version
	if f.resource.Group == "" {
		path = "/api/" + f.resource.Version
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet,
		server+path+"/"+f.resource.Resource+"?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", mediaType)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("watching %s: %s", f.resource.Resource, response.Status)
	}
	info, _ := kruntime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
	buffered := struct {
		io.Reader
		io.Closer
	}{bufio.NewReaderSize(response.Body, 64<<10), response.Body}
	return &frames{info.StreamSerializer.NewFrameReader(buffered), info.StreamSerializer.Serializer, make([]byte, 64<<10)}, nil
}

// next is the object in the next event.
func (f *frames) next() ([]byte, error) {
	n, err := f.Read(f.buffer)
	if err != nil {
		return nil, err
	}
	var event metav1.WatchEvent
	if _, _, err := f.events.Decode(f.buffer[:n], nil, &event); err != nil {
		return nil, err
	}
	return event.Object.Raw, nil
}
