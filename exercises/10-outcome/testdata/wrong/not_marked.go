// Bug: a request is given up, and nobody is told.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.again, d.forget = onlyWhenAdded, true
	}
	return d
}
