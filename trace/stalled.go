package trace

import (
	"reflect"
	"slices"
	"sync"
	"time"
)

// RecordStalled records a Condition when an object stops making progress, or makes progress again,
// according to its status.conditions. e names the object. old is the state that the caller knew
// before, and object the new one; nil means none.
//
// It looks at any Go types with the fields that Kubernetes' types have, and at unstructured
// objects. That takes a microsecond, so it first checks whether the recorder is on.
func (r *Recorder) RecordStalled(e Event, old, object any) {
	if !r.On() {
		return
	}
	before, now := stalledBy(old), stalledBy(object)
	if before.kind == now.kind && before.reason == now.reason {
		return
	}
	e.Kind, e.Op, e.Reason = Condition, now.kind, now.reason
	if e.Reason == "" {
		e.Op = before.kind
	}
	if !now.since.IsZero() {
		e.Took = max(0, time.Since(now.since))
	}
	r.Record(e)
}

// complaint is a condition that says that its object doesn't make progress.
type complaint struct {
	kind, reason string // empty: it makes progress
	since        time.Time
}

// stalledBy returns the most serious condition.
func stalledBy(object any) (found complaint) {
	for _, c := range conditionsOf(object) {
		switch c.severity() {
		case certain:
			return c.complaint()
		case possible: // it may just be starting, and its age tells
			if found.kind == "" {
				found = c.complaint()
			}
		}
	}
	return found
}

// status is one of an object's status.conditions.
type status struct {
	kind, status, reason, message string
	since                         time.Time
}

func (c status) complaint() complaint {
	reason := c.kind + " is " + c.status
	for _, text := range []string{c.reason, c.message} {
		if text != "" {
			reason += ": " + text
		}
	}
	return complaint{c.kind, reason, c.since}
}

type severity uint8

const (
	fine severity = iota
	possible
	certain
)

// severity knows the conditions of Kubernetes' kinds, and Stalled, which kstatus recommends to
// others.
func (c status) severity() severity {
	switch {
	case slices.Contains([]string{"Progressing", "PodScheduled"}, c.kind) && c.status == "False":
		return certain
	case slices.Contains([]string{"Stalled", "ReplicaFailure", "Failed"}, c.kind) &&
		c.status == "True":
		return certain
	case c.kind == "Ready" && c.status != "True" && c.reason != "PodCompleted":
		return possible
	case c.kind == "Available" && c.status == "False":
		return possible
	}
	return fine
}

func conditionsOf(object any) (all []status) {
	if object == nil {
		return nil
	}
	if free, ok := object.(interface{ UnstructuredContent() map[string]any }); ok {
		return unstructuredConditions(free.UnstructuredContent())
	}
	v := reflect.ValueOf(object)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return nil
	}
	at := placesOf(v.Type().Elem())
	if at.conditions == nil {
		return nil
	}
	list := v.Elem().FieldByIndex(at.conditions)
	for i := range list.Len() {
		c := list.Index(i)
		text := func(at []int) string {
			if at == nil {
				return ""
			}
			return c.FieldByIndex(at).String()
		}
		one := status{
			kind: text(at.kind), status: text(at.status),
			reason: text(at.reason), message: text(at.message),
		}
		if at.since != nil {
			one.since, _ = c.FieldByIndex(at.since).Interface().(time.Time)
		}
		all = append(all, one)
	}
	return all
}

func unstructuredConditions(object map[string]any) (all []status) {
	inStatus, _ := object["status"].(map[string]any)
	list, _ := inStatus["conditions"].([]any)
	for _, c := range list {
		c, _ := c.(map[string]any)
		text := func(name string) string { s, _ := c[name].(string); return s }
		one := status{
			kind: text("type"), status: text("status"),
			reason: text("reason"), message: text("message"),
		}
		one.since, _ = time.Parse(time.RFC3339, text("lastTransitionTime"))
		all = append(all, one)
	}
	return all
}

// places are the fields where a Go type has its conditions, and where these have their texts; nil
// is nowhere.
type places struct{ conditions, kind, status, reason, message, since []int }

var known sync.Map // of places, by reflect.Type

func placesOf(t reflect.Type) places {
	if at, ok := known.Load(t); ok {
		return at.(places)
	}
	at := findPlaces(t)
	known.Store(t, at)
	return at
}

func findPlaces(t reflect.Type) (at places) {
	inStatus, ok := fieldOf(t, "Status", reflect.Struct)
	if !ok {
		return places{}
	}
	list, ok := fieldOf(inStatus.Type, "Conditions", reflect.Slice)
	if !ok || list.Type.Elem().Kind() != reflect.Struct {
		return places{}
	}
	one := list.Type.Elem()
	for name, place := range map[string]*[]int{
		"Type": &at.kind, "Status": &at.status, "Reason": &at.reason, "Message": &at.message,
	} {
		if field, ok := fieldOf(one, name, reflect.String); ok {
			*place = field.Index
		}
	}
	if at.kind == nil || at.status == nil {
		return places{}
	}
	if since, ok := fieldOf(one, "LastTransitionTime", reflect.Struct); ok {
		moment, ok := since.Type.FieldByName("Time")
		if ok && moment.Type == reflect.TypeFor[time.Time]() {
			at.since = slices.Concat(since.Index, moment.Index)
		}
	}
	at.conditions = slices.Concat(inStatus.Index, list.Index)
	return at
}

// fieldOf finds a field in the struct itself: an embedded pointer may be nil.
func fieldOf(t reflect.Type, name string, kind reflect.Kind) (reflect.StructField, bool) {
	if t.Kind() != reflect.Struct {
		return reflect.StructField{}, false
	}
	field, ok := t.FieldByName(name)
	return field, ok && len(field.Index) == 1 && field.Type.Kind() == kind && field.IsExported()
}
