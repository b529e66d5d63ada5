package conversion

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/loopwright/loopwright/manager/conversion"
)

// A banana has three versions: v1 and v3 are spokes, and v2 is the hub. v1 has one field for what
// v2 keeps in two.

type banana struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Look              string `json:"look,omitempty"`   // v1: "yellow 12"
	Colour            string `json:"colour,omitempty"` // v2 and v3
	Length            int    `json:"length,omitempty"`
}

func (b *banana) copied() *banana {
	c := *b
	b.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

type bananaV1 struct{ banana }

func (b *bananaV1) DeepCopyObject() runtime.Object { return &bananaV1{*b.copied()} }

func (b *bananaV1) ConvertTo(hub conversion.Hub) error {
	to := hub.(*bananaV2)
	to.ObjectMeta = b.ObjectMeta
	if b.Look == "skin" {
		panic("slipped")
	}
	if b.Look == "nameless" {
		to.Name = ""
	}
	if b.Look == "lost" {
		to.UID = ""
	}
	if _, err := fmt.Sscanf(b.Look, "%s %d", &to.Colour, &to.Length); err != nil &&
		b.Look != "nameless" && b.Look != "lost" {
		return fmt.Errorf("the look %q is not a colour and a length", b.Look)
	}
	return nil
}

func (b *bananaV1) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*bananaV2)
	b.ObjectMeta = from.ObjectMeta
	b.Look = fmt.Sprintf("%s %d", from.Colour, from.Length)
	return nil
}

type bananaV2 struct{ banana }

func (b *bananaV2) DeepCopyObject() runtime.Object { return &bananaV2{*b.copied()} }
func (*bananaV2) Hub()                             {}

type bananaV3 struct{ banana }

func (b *bananaV3) DeepCopyObject() runtime.Object { return &bananaV3{*b.copied()} }

func (b *bananaV3) ConvertTo(hub conversion.Hub) error {
	to := hub.(*bananaV2)
	to.ObjectMeta, to.Colour, to.Length = b.ObjectMeta, strings.ToLower(b.Colour), b.Length
	return nil
}

func (b *bananaV3) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*bananaV2)
	b.banana = *from.copied() // the version, too
	b.Colour = strings.ToUpper(from.Colour)
	return nil
}

// plain is neither hub nor spoke.
type plain struct{ banana }

func (p *plain) DeepCopyObject() runtime.Object { return &plain{*p.copied()} }

func versionOf(version string) schema.GroupVersion {
	return schema.GroupVersion{Group: "shop.example", Version: version}
}

func newScheme(types map[string]runtime.Object) *runtime.Scheme {
	scheme := runtime.NewScheme()
	for version, object := range types {
		scheme.AddKnownTypeWithName(versionOf(version).WithKind("Banana"), object)
	}
	return scheme
}

func bananas() *runtime.Scheme {
	return newScheme(map[string]runtime.Object{"v1": &bananaV1{}, "v2": &bananaV2{},
		"v3": &bananaV3{}})
}
