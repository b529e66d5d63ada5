package cache

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func replica(i int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"number": fmt.Sprint(i)},
			OwnerReferences: []metav1.OwnerReference{{Name: "web", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{
			NodeName: fmt.Sprint("node-", i),
			Containers: []corev1.Container{{
				Name:           "web",
				Env:            []corev1.EnvVar{{Name: "MODE", Value: "x"}},
				Resources:      corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m")}},
				VolumeMounts:   []corev1.VolumeMount{{Name: fmt.Sprint("access-", i)}},
				ReadinessProbe: &corev1.Probe{PeriodSeconds: 10, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready"}}},
			}},
		},
	}
}

// Replicas differ in a few fields. All the rest is in memory as often as there are pods, if nobody shares it.
func TestEqualPartsOfObjectsBecomeOneWhateverIsAroundThem(t *testing.T) {
	s := newSharer()
	a, b := replica(1), replica(2)
	s.share(a)
	s.share(b)
	require.Equal(t, replica(1), a, "an object says what it said")
	require.Equal(t, replica(2), b)
	same := func(x, y any) bool {
		return reflect.ValueOf(x).UnsafePointer() == reflect.ValueOf(y).UnsafePointer()
	}
	require.True(t, same(a.Labels, b.Labels))
	require.True(t, same(a.OwnerReferences, b.OwnerReferences))
	require.False(t, same(a.Annotations, b.Annotations), "these differ")
	of, with := a.Spec.Containers[0], b.Spec.Containers[0]
	require.False(t, same(a.Spec.Containers, b.Spec.Containers), "the mounts in them differ")
	require.True(t, same(of.Env, with.Env))
	require.True(t, same(of.Resources.Requests, with.Resources.Requests))
	require.True(t, same(of.ReadinessProbe, with.ReadinessProbe))
	require.False(t, same(of.VolumeMounts, with.VolumeMounts))
}

// Whoever gets a copy may do with it what they like.
func TestACopyOfAnObjectThatSharesPartsSharesNone(t *testing.T) {
	s := newSharer()
	a, b := replica(1), replica(2)
	s.share(a)
	s.share(b)
	mine := b.DeepCopy()
	mine.Labels["app"], mine.Spec.Containers[0].Env[0].Value = "mine", "mine"
	require.Equal(t, replica(1), a)
	require.Equal(t, replica(2), b)
}

// A hash may be the same by accident.
func TestPartsWithOneHashThatDifferAreNotShared(t *testing.T) {
	s := newSharer()
	a := &corev1.ConfigMap{Data: map[string]string{"k": "a"}}
	s.share(a)
	b := &corev1.ConfigMap{Data: map[string]string{"k": "b"}}
	for hash := range s.parts {
		s.parts[s.hash(reflect.ValueOf(b.Data))] = s.parts[hash]
	}
	s.share(b)
	require.Equal(t, map[string]string{"k": "b"}, b.Data)
	wrong := &corev1.ConfigMap{BinaryData: map[string][]byte{"k": []byte("a")}}
	s.parts[s.hash(reflect.ValueOf(wrong.BinaryData))] = reflect.ValueOf(a.Data)
	s.share(wrong)
	require.Equal(t, map[string][]byte{"k": []byte("a")}, wrong.BinaryData)
}

// The table must not keep what is gone, and what is never shared must not cost much.
func TestTheTableOfPartsIsBoundedAndHopelessPlacesAreGivenUp(t *testing.T) {
	s := newSharer()
	random := rand.New(rand.NewPCG(1, 2))
	place := func() *sharedType { return s.kinds[reflect.TypeFor[*corev1.ConfigMap]()] }
	for i := range 3 * maxSharedParts {
		s.share(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
			Data:       map[string]string{"k": fmt.Sprint(i, random.Uint64())},
		})
		require.LessOrEqual(t, len(s.parts), maxSharedParts)
	}
	var hopeless, useful int
	var count func(p *sharedType)
	count = func(p *sharedType) {
		if p == nil {
			return
		}
		if p.isHopeless() {
			hopeless++
		}
		if p.hits > maxSharedParts {
			useful++
		}
		for _, field := range p.fields {
			count(field.of)
		}
		count(p.elem)
	}
	count(place())
	require.Equal(t, []int{1, 1}, []int{hopeless, useful}, "data is given up, labels are not")
	require.Less(t, len(s.parts), 2*sharingTrial)
}

func TestObjectsOfAllShapesCanBeShared(t *testing.T) {
	s := newSharer()
	s.share("nothing to look into")
	for range 2 {
		deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, Template: corev1.PodTemplateSpec{Spec: replica(1).Spec}}}
		want := deployment.DeepCopy()
		s.share(deployment)
		require.Equal(t, want, deployment)
		s.share(&metav1.PartialObjectMetadata{ObjectMeta: replica(1).ObjectMeta})
	}
}

// schemaProps contains itself in many places, as the schema in a CustomResourceDefinition does.
type schemaProps struct {
	ID                                           string
	Maximum, Minimum                             *float64
	Required                                     []string
	Items, AdditionalItems, AdditionalProperties *schemaPropsOr
	AllOf, OneOf, AnyOf                          []schemaProps
	Not                                          *schemaProps
	Properties, PatternProperties, Definitions   map[string]schemaProps
}

type schemaPropsOr struct {
	Schema  *schemaProps
	Schemas []schemaProps
}

func (p *sharedType) places() int {
	if p == nil {
		return 0
	}
	n := 1 + p.elem.places()
	for _, field := range p.fields {
		n += field.of.places()
	}
	return n
}

// What is known about the places of a type is small, or it costs more than sharing saves.
func TestATypeThatContainsItselfHasFewPlaces(t *testing.T) {
	require.Less(t, newSharedType(reflect.TypeFor[struct {
		A struct{ B []struct{ C *schemaProps } }
	}](), nil).places(), 1000)
}
