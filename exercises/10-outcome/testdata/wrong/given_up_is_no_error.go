// Bug: a request that is given up no longer has the label of an error.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.label, d.again, d.forget, d.gaveUp = "gave_up", onlyWhenAdded, true, true
	}
	return d
}
