package mini

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// firstOrdinal returns the ordinal of the first member: 0, unless the user wants another
// one.
func firstOrdinal(set *appsv1.StatefulSet) int {
	return int(ptr.Deref(set.Spec.Ordinals, appsv1.StatefulSetOrdinals{}).Start)
}

// ordinalOf returns the number at the end of the Pod's name, or a negative one if the
// name isn't that of a member of the set.
func ordinalOf(set *appsv1.StatefulSet, pod *corev1.Pod) int {
	ordinal, err := strconv.Atoi(strings.TrimPrefix(pod.Name, set.Name+"-"))
	if err != nil || pod.Name != nameWith(set.Name, ordinal) {
		return -1
	}
	return ordinal
}

func nameWith(name string, ordinal int) string { return fmt.Sprint(name, "-", ordinal) }

// setIdentity adds the labels by which a Service can select this one Pod. It returns
// false if the Pod already has them.
func setIdentity(pod *corev1.Pod, ordinal int) (changed bool) {
	index := strconv.Itoa(ordinal)
	changed = pod.Labels[appsv1.StatefulSetPodNameLabel] != pod.Name ||
		pod.Labels[appsv1.PodIndexLabel] != index
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.StatefulSetPodNameLabel, pod.Name)
	metav1.SetMetaDataLabel(&pod.ObjectMeta, appsv1.PodIndexLabel, index)
	return changed
}

// newClaim returns a claim of the Pod with this ordinal. When a Pod is replaced by one
// with the same name, the new one finds the same claim, and so the same data.
func newClaim(
	set *appsv1.StatefulSet, template corev1.PersistentVolumeClaim, ordinal int,
) *corev1.PersistentVolumeClaim {
	claim := template.DeepCopy()
	claim.Namespace = set.Namespace
	claim.Name = nameWith(claim.Name+"-"+set.Name, ordinal)
	for key, value := range set.Spec.Selector.MatchLabels {
		metav1.SetMetaDataLabel(&claim.ObjectMeta, key, value)
	}
	return claim
}

// claimOwners returns the owners that the claim should have. It keeps owners that aren't
// ours. If the policy says so, the set owns the claim, so they're deleted together, or
// the Pod owns it, if the Pod is condemned. If the claim's owner is an earlier set or Pod
// of the same name, the claim is doomed: the garbage collector will delete it.
func claimOwners(
	claim *corev1.PersistentVolumeClaim, set *appsv1.StatefulSet, pod *corev1.Pod,
	condemned bool,
) (refs []metav1.OwnerReference, doomed bool) {
	asSet := metav1.OwnerReference{
		APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID,
	}
	asPod := metav1.OwnerReference{
		APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
	}
	doomed = claim.DeletionTimestamp != nil
	for _, ref := range claim.OwnerReferences {
		isSet := ref.Kind == asSet.Kind && ref.Name == set.Name
		isPod := ref.Kind == asPod.Kind && ref.Name == pod.Name
		switch {
		case !isSet && !isPod:
			refs = append(refs, ref)
		case ref.UID != set.UID && ref.UID != pod.UID:
			doomed = true
		}
	}
	const remove = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	policy := ptr.Deref(set.Spec.PersistentVolumeClaimRetentionPolicy,
		appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{})
	switch {
	case condemned && policy.WhenScaled == remove:
		refs = append(refs, asPod)
	case policy.WhenDeleted == remove:
		refs = append(refs, asSet)
	}
	return refs, doomed
}

// syncClaims creates the claims that the Pod needs to start, and gives them the owners
// that the policy wants. For a new Pod, it returns an error if a claim is about to be
// deleted.
func syncClaims(
	ctx context.Context, client *CachedClient, set *appsv1.StatefulSet, pod *corev1.Pod,
	condemned bool,
) error {
	for _, template := range set.Spec.VolumeClaimTemplates {
		claim := newClaim(set, template, ordinalOf(set, pod))
		if err := syncClaim(ctx, client, set, pod, claim, condemned); err != nil {
			return err
		}
	}
	return nil
}

func syncClaim(
	ctx context.Context, client *CachedClient, set *appsv1.StatefulSet, pod *corev1.Pod,
	claim *corev1.PersistentVolumeClaim, condemned bool,
) error {
	stored, err := Get[*corev1.PersistentVolumeClaim](ctx, client, KeyOf(claim))
	if apierrors.IsNotFound(err) {
		if pod.UID != "" && pod.Status.Phase != corev1.PodPending {
			return nil // it has started without it
		}
		claim.OwnerReferences, _ = claimOwners(claim, set, pod, condemned)
		return client.Create(ctx, claim)
	}
	if err != nil {
		return err
	}
	refs, doomed := claimOwners(stored, set, pod, condemned)
	if doomed && pod.UID == "" {
		return fmt.Errorf("claim %s is about to be deleted", KeyOf(claim))
	}
	if doomed || equality.Semantic.DeepEqual(refs, stored.OwnerReferences) {
		return nil
	}
	stored.OwnerReferences = refs
	return client.Update(ctx, stored)
}
