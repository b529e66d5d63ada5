// Bug: each failure is forgotten, not only the last.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && d.label == labelError && d.again == rateLimited {
		d.forget = true
		if retries >= limit {
			d.again, d.gaveUp = onlyWhenAdded, true
		}
	}
	return d
}
