// Bug: a wait is given up like an error.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && (d.label == labelError && d.again == rateLimited || d.label == labelWaiting) {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}
