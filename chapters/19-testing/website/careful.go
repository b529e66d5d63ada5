package website

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/loopwright/loopwright/chapters/example"
)

// Careful opens a page for a Website that has none. It closes the page if its id can't be
// stored.
func Careful(
	ctx context.Context, c Client, cdn *CDN, site *example.Website, page string,
) error {
	id := site.Annotations[PageID]
	if id == "" {
		id = cdn.Open(site.UID)
		metav1.SetMetaDataAnnotation(&site.ObjectMeta, PageID, id)
		if err := c.Update(ctx, site); err != nil {
			cdn.Close(id) // or we'd pay for it forever
			return err
		}
	}
	return cdn.Put(id, page)
}
