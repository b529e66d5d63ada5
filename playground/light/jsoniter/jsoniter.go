// Package jsoniter takes the place of json-iterator in structured-merge-diff's package value, which
// encodes field ownership with it. apimachinery needs another part of that package, and a page has no
// field ownership.
package jsoniter

import (
	"errors"
	"io"
)

var errNone = errors.New("there is no field ownership in a page")

// API is none.
type API struct{}

// ConfigCompatibleWithStandardLibrary is none.
var ConfigCompatibleWithStandardLibrary API

// Iterator reads nothing.
type Iterator struct{ Error error }

// NewIterator returns one that refuses.
func NewIterator(API) *Iterator { return &Iterator{} }

// Pool returns itself.
func (i *Iterator) Pool() *Iterator { return i }

// BorrowIterator returns one that refuses.
func (*Iterator) BorrowIterator([]byte) *Iterator { return &Iterator{Error: errNone} }

// ReturnIterator does nothing.
func (*Iterator) ReturnIterator(*Iterator) {}

// Read reads nothing.
func (*Iterator) Read() any { return nil }

// WhatIsNext says that nothing is.
func (*Iterator) WhatIsNext() int { return 0 }

// ReportError does nothing.
func (*Iterator) ReportError(string, string) {}

// Stream writes nothing.
type Stream struct{}

// NewStream returns one that refuses.
func NewStream(API, io.Writer, int) *Stream { return &Stream{} }

// Pool returns itself.
func (s *Stream) Pool() *Stream { return s }

// BorrowStream returns one that refuses.
func (s *Stream) BorrowStream(io.Writer) *Stream { return s }

// ReturnStream does nothing.
func (*Stream) ReturnStream(*Stream) {}

// Buffer is empty.
func (*Stream) Buffer() []byte { return nil }

// SetBuffer does nothing.
func (*Stream) SetBuffer([]byte) {}

// Flush refuses.
func (*Stream) Flush() error { return errNone }

// WriteVal does nothing.
func (*Stream) WriteVal(any) {}
