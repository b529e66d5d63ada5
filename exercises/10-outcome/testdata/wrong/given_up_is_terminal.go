// Bug: a request that is given up counts as a terminal error.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.again, d.forget, d.gaveUp, d.terminal = onlyWhenAdded, true, true, true
	}
	return d
}
