// Bug: a count above the limit is retried forever.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries == limit && d.label == labelError && d.again == rateLimited {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}
