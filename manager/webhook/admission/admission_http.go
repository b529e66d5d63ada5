package admission

import (
	"context"
	"net/http"

	"github.com/loopwright/loopwright/manager/webhook/internal/incoming"
)

// maxRequestSize bounds a body. etcd takes no object of more than about 1.5 MB, which may be twice that as
// JSON; a review has up to two of them, and what else it says is less than 1 MB.
const maxRequestSize = 7 << 20

// ServeHTTP implements http.Handler: it answers the API server.
//
// A body that is no review is answered with a refusal, too, and with its UID, if it is found: without it
// the API server reports "expected response.uid=..." and not what is wrong.
//
// The context of the handler ends when the API server stops waiting.
func (wh *Webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if wh.WithContextFunc != nil {
		ctx = wh.WithContextFunc(ctx, r)
	}
	ctx, cancel := incoming.Awaited(ctx, r.URL)
	defer cancel()

	body, wrong := incoming.Body(r, maxRequestSize)
	if wrong == nil {
		wrong = incoming.JSON(r)
	}
	var answer head
	var response Response
	if wrong != nil {
		wh.logger(nil).Error(wrong, "Answering a request that is no review")
		answer, response = headOf(body), Errored(wrong.Code, wrong)
	} else {
		answer, response = wh.review(ctx, body)
	}
	w.Header().Set("Content-Type", "application/json")
	if _, err := w.Write(writeReview(answer, response)); err != nil {
		wh.logger(nil).Error(err, "Cannot send the answer; the API server may have stopped waiting", "requestID", answer.uid)
	}
}

// review is the whole webhook without HTTP: a question in, an answer out.
func (wh *Webhook) review(ctx context.Context, body []byte) (head, Response) {
	req, answer, err := readReview(body)
	if err != nil {
		wh.logger(nil).Error(err, "Answering a request that is no review")
		return answer, Errored(http.StatusBadRequest, err)
	}
	reqLog := wh.logger(&req)
	log := reqLog.V(5)
	log.Info("Received a request")
	response := wh.handle(ctx, req, reqLog)
	if log.Enabled() {
		log.Info("Answered", "allowed", response.Allowed, "result", response.Result)
	}
	return answer, response
}
