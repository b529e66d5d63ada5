package client

// An option changes the options of one call. Each kind of call has its own interface, so that the
// compiler refuses an option that the call does not know. The structs of options are options, too:
// applied to another, they set there what is set in them.

// CreateOption sets one of CreateOptions.
type CreateOption interface{ ApplyToCreate(*CreateOptions) }

// UpdateOption sets one of UpdateOptions.
type UpdateOption interface{ ApplyToUpdate(*UpdateOptions) }

// PatchOption sets one of PatchOptions.
type PatchOption interface{ ApplyToPatch(*PatchOptions) }

// ApplyOption sets one of ApplyOptions.
type ApplyOption interface{ ApplyToApply(*ApplyOptions) }

// DeleteOption sets one of DeleteOptions.
type DeleteOption interface{ ApplyToDelete(*DeleteOptions) }

// DeleteAllOfOption sets one of DeleteAllOfOptions.
type DeleteAllOfOption interface{ ApplyToDeleteAllOf(*DeleteAllOfOptions) }

// GetOption sets one of GetOptions.
type GetOption interface{ ApplyToGet(*GetOptions) }

// ListOption sets one of ListOptions.
type ListOption interface{ ApplyToList(*ListOptions) }

// SubResourceGetOption sets one of SubResourceGetOptions.
type SubResourceGetOption interface {
	ApplyToSubResourceGet(*SubResourceGetOptions)
}

// SubResourceCreateOption sets one of SubResourceCreateOptions.
type SubResourceCreateOption interface {
	ApplyToSubResourceCreate(*SubResourceCreateOptions)
}

// SubResourceUpdateOption sets one of SubResourceUpdateOptions.
type SubResourceUpdateOption interface {
	ApplyToSubResourceUpdate(*SubResourceUpdateOptions)
}

// SubResourcePatchOption sets one of SubResourcePatchOptions.
type SubResourcePatchOption interface {
	ApplyToSubResourcePatch(*SubResourcePatchOptions)
}

// SubResourceApplyOption sets one of SubResourceApplyOptions.
type SubResourceApplyOption interface {
	ApplyToSubResourceApply(*SubResourceApplyOptions)
}

// SubResourceUpdateAndPatchOption is an option of both.
type SubResourceUpdateAndPatchOption interface {
	SubResourceUpdateOption
	SubResourcePatchOption
}

// set writes value to field unless it is the zero value: what an option does not say stays.
func set[T comparable](field *T, value T) {
	var zero T
	if value != zero {
		*field = value
	}
}

// setDryRun does the same for a slice, of which an empty one says something: no dry run.
func setDryRun(field *[]string, value []string) {
	if value != nil {
		*field = value
	}
}

// copyOf returns a copy to write into, so that one struct of options can serve several calls, even
// at the same time.
func copyOf[T any](raw *T) *T {
	out := new(T)
	if raw != nil {
		*out = *raw
	}
	return out
}
