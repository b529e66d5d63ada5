// Bug: everything that was to be called again is given up.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.again != onlyWhenAdded {
		d.again, d.forget, d.gaveUp = onlyWhenAdded, true, true
	}
	return d
}
