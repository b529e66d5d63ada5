package conversion_test

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/loopwright/loopwright/manager/conversion"
)

// BananaV2 is the hub: it says how heavy a banana is, as a number.
type BananaV2 struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Grams int
}

func (*BananaV2) Hub() {}

func (b *BananaV2) DeepCopyObject() runtime.Object {
	c := *b
	b.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

// BananaV1 is the only spoke: it says it in words.
type BananaV1 struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	Weight string
}

func (b *BananaV1) DeepCopyObject() runtime.Object {
	c := *b
	b.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	return &c
}

func (b *BananaV1) ConvertTo(dst conversion.Hub) error {
	to := dst.(*BananaV2)
	to.ObjectMeta = b.ObjectMeta
	if _, err := fmt.Sscanf(b.Weight, "%d g", &to.Grams); err != nil {
		return fmt.Errorf("the weight %q is not one such as 150 g: %w", b.Weight, err)
	}
	return nil
}

func (b *BananaV1) ConvertFrom(src conversion.Hub) error {
	from := src.(*BananaV2)
	b.ObjectMeta = from.ObjectMeta
	b.Weight = fmt.Sprintf("%d g", from.Grams)
	return nil
}

func ExampleConvertible() {
	var old conversion.Convertible = &BananaV1{ObjectMeta: metav1.ObjectMeta{Name: "long"}, Weight: "150 g"}
	hub := &BananaV2{}
	if err := old.ConvertTo(hub); err != nil {
		panic(err)
	}
	fmt.Println(hub.Name, hub.Grams)
	again := &BananaV1{}
	if err := again.ConvertFrom(hub); err != nil {
		panic(err)
	}
	fmt.Println(again.Name, again.Weight)
	// Output:
	// long 150
	// long 150 g
}
