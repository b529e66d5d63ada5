package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/loopwright/loopwright/chapters/18-defaulting/theme"
	"github.com/loopwright/loopwright/cluster/clustertest"
	"github.com/loopwright/loopwright/internal/demo"
	"github.com/loopwright/loopwright/mini"
)

// A default meets applied fields: what a webhook has filled in belongs to no manager, so the first one who applies
// the field gets it without a conflict. Once it's given up again, the default comes back.
func TestADefaultHasNoOwner(t *testing.T) {
	act := func(ctx context.Context, u *theme.User) error {
		apply := func(manager, spec string) (metav1.ObjectMeta, string, error) {
			answer, err := u.Client.CoreV1().RESTClient().Patch(types.ApplyPatchType).
				AbsPath("/apis/web.example.com/v1/namespaces", u.Namespace, "websites", "shop").
				Param("fieldManager", manager).
				Body([]byte(`{"apiVersion":"web.example.com/v1","kind":"Website","metadata":{"name":"shop"},"spec":` + spec + `}`)).
				DoRaw(ctx)
			if err != nil {
				return metav1.ObjectMeta{}, "", err
			}
			var site struct {
				Metadata metav1.ObjectMeta
				Spec     map[string]any
			}
			require.NoError(t, json.Unmarshal(answer, &site))
			stored, err := json.Marshal(site.Spec)
			return site.Metadata, string(stored), err
		}
		owners := func(meta metav1.ObjectMeta) (names []string) {
			for _, entry := range meta.ManagedFields {
				if strings.Contains(entry.FieldsV1.GetRawString(), `"f:replicas"`) {
					names = append(names, entry.Manager)
				}
			}
			return names
		}

		meta, stored, err := apply("user", `{"page":"home"}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"page":"home","replicas":2}`, stored)
		require.Empty(t, owners(meta), "nobody has applied the default")

		meta, stored, err = apply("autoscaler", `{"replicas":5}`)
		require.NoError(t, err, "there's nobody to have a conflict with")
		require.JSONEq(t, `{"page":"home","replicas":5}`, stored)
		require.Equal(t, []string{"autoscaler"}, owners(meta))

		_, stored, err = apply("user", `{"page":"home"}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"page":"home","replicas":5}`, stored, "the file doesn't mention the field, and the webhook finds it filled in")
		_, _, err = apply("user", `{"page":"home","replicas":3}`)
		require.True(t, apierrors.IsConflict(err), "got %v", err)

		meta, stored, err = apply("autoscaler", `{}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"page":"home","replicas":2}`, stored, "whoever lets go gets the default")
		require.Empty(t, owners(meta))
		return u.Delete(ctx, "shop")
	}
	pods := &defaults{}
	story := func(ctx context.Context, d *demo.Demo) error {
		return theme.Story(func() *mini.Webhook { return newWebhook(pods) }, act)(ctx, d)
	}
	require.NoError(t, demo.On(t.Context(), io.Discard, clustertest.Shared(t), story))
}
