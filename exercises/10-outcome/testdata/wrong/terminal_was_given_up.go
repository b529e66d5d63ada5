// Bug: a terminal error counts as one that was retried often enough.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}
