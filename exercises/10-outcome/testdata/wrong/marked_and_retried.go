// Bug: a request is called given up, and retried.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.forget, d.gaveUp = true, true
	}
	return d
}
