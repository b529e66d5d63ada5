// Bug: a limit of 1 is none.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 1 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}
