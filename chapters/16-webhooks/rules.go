package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/loopwright/loopwright/manager/webhook/admission"
)

// region rules

// rules are those of the market. They know one version: the API server converts the others.
type rules struct{}

// Default fills in when the market is open.
func (rules) Default(_ context.Context, s *Stall) error {
	if s.Spec.Opens == 0 {
		s.Spec.Opens = 8
	}
	if s.Spec.Closes == 0 {
		s.Spec.Closes = 18
	}
	return nil
}

// ValidateCreate refuses hours that make no sense, and warns about long ones.
func (rules) ValidateCreate(_ context.Context, s *Stall) (admission.Warnings, error) {
	hours := s.Spec.Closes - s.Spec.Opens
	if hours <= 0 {
		return nil, fmt.Errorf("the stall closes at %d, and opens at %d", s.Spec.Closes, s.Spec.Opens)
	}
	if hours > 12 {
		return admission.Warnings{fmt.Sprintf("the stall is open for %d hours: somebody has to be there", hours)}, nil
	}
	return nil, nil
}

// ValidateUpdate also refuses another fruit: there is a sign.
func (r rules) ValidateUpdate(ctx context.Context, before, s *Stall) (admission.Warnings, error) {
	if s.Spec.Fruit != before.Spec.Fruit {
		wrong := field.Invalid(field.NewPath("spec", "fruit"), s.Spec.Fruit, "the sign says "+before.Spec.Fruit)
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: group, Kind: "Stall"}, s.Name, field.ErrorList{wrong})
	}
	return r.ValidateCreate(ctx, s)
}

// ValidateDelete is not called: the configuration does not ask for it.
func (rules) ValidateDelete(context.Context, *Stall) (admission.Warnings, error) { return nil, nil }

// endregion rules
