// Bug: the last retry is not made.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries+1 >= limit && d.label == labelError && d.again == rateLimited {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}
