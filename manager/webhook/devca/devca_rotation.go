package devca

import "time"

// region rotation

// generation is the state of the certificates: what signs, what is served, and what the API server is told.
type generation struct {
	signer  authority // signs what is served
	serving certificate
	// next is the authority after signer, while the API server learns about it. It signs nothing before that.
	next *authority
	// told is when all configurations had next; zero until then.
	told time.Time
	// asked is when somebody asked for the next authority; zero if nobody did.
	asked time.Time
	// last is the authority before signer. Connections that began with it go on, so the API server still
	// trusts it until it runs out.
	last *authority
}

// step is what there is to do about a generation.
type step int

const (
	stay       step = iota // nothing until the time that comes with it
	renew                  // sign a new serving certificate
	makeNext               // make the next authority, and tell the API server
	promote                // let next sign
	forgetLast             // stop telling the API server about last
)

const (
	// settling is how long the API server may take to read a configuration that was written.
	settling = 10 * time.Second
	// renewAt is the part of a life after which a certificate is renewed, so that a failure can be
	// repaired in the rest of it.
	renewAt = 2.0 / 3
	// promoteAt is the part of an authority's life after which the next one signs, even if the API server could not
	// be told.
	promoteAt = 0.9
	// clockTolerance is how far the API server's clock may be behind ours.
	clockTolerance = 5 * time.Minute
)

// due is the step for a generation at a time, or when to look again.
//
// A new authority is announced beside the old one, and signs only when the API server has had time to
// read the configurations. So there is no moment at which it does not trust what is served. If the
// announcement fails, nothing changes until the old authority has to go anyway.
func (g generation) due(now time.Time) (step, time.Time) {
	type deadline struct {
		step step
		at   time.Time
	}
	deadlines := []deadline{{renew, after(renewAt, g.serving.from, g.serving.until)}}
	if g.next == nil {
		at := after(renewAt, g.signer.from, g.signer.until)
		if !g.asked.IsZero() && g.asked.Before(at) {
			at = g.asked
		}
		deadlines = append(deadlines, deadline{makeNext, at})
	} else if g.told.IsZero() {
		deadlines = append(deadlines, deadline{promote, after(promoteAt, g.signer.from, g.signer.until)})
	} else {
		deadlines = append(deadlines, deadline{promote, g.told.Add(settling)})
	}
	if g.last != nil {
		deadlines = append(deadlines, deadline{forgetLast, g.last.until})
	}
	var first deadline
	for i, d := range deadlines {
		if i == 0 || d.at.Before(first.at) {
			first = d
		}
	}
	if first.at.After(now) {
		return stay, first.at
	}
	return first.step, now
}

// after is the time at which a part of a life is over.
func after(part float64, from, until time.Time) time.Time {
	return from.Add(time.Duration(float64(until.Sub(from)) * part))
}

// bundle is what the API server is told to trust, in PEM form.
func (g generation) bundle() (pem []byte) {
	for _, a := range []*authority{g.next, &g.signer, g.last} {
		if a != nil {
			pem = append(pem, a.pem...)
		}
	}
	return pem
}

// endregion rotation
