package filters

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// How long answers are cached.
const (
	tokenFor = time.Minute
	// a token whose review has an error in its status, which may be temporary
	failureFor = 10 * time.Second
	allowedFor = 5 * time.Minute
	deniedFor  = 30 * time.Second
)

// A review that fails is retried: 5 attempts in all, after delays of 0.5, 0.75, ... seconds, each
// of at most 10 seconds.
const (
	tries       = 5
	firstPause  = 500 * time.Millisecond
	reviewLimit = 10 * time.Second
)

var (
	errUnknown = errors.New("the token is not valid")
	// errStranger is for an answer that doesn't repeat the question, as the API server's does. A
	// proxy's {} would be a refusal that's remembered.
	errStranger = errors.New("the answer is to a different question: something other than the API " +
		"server may have sent it")
)

// identity is the answer of a TokenReview: a user, or why there's none.
type identity struct {
	user *authenticationv1.UserInfo
	why  string
}

// decision is the answer of a SubjectAccessReview.
type decision struct {
	allowed bool
	reason  string
}

// reviews asks the API server, and caches the answers. The cache keys are hashes: a token should
// not stay in memory, and a user may have thousands of groups.
type reviews struct {
	tokens   authenticationclient.TokenReviewInterface
	accesses authorizationclient.SubjectAccessReviewInterface

	identities *reviewCache[identity]
	decisions  *reviewCache[decision]
}

func newReviews(config *rest.Config, httpClient *http.Client) (*reviews, error) {
	// The caches bound how many reviews run. A limit of requests a second would make a scrape wait
	// for every guess before it.
	config = rest.CopyConfig(config)
	config.QPS, config.RateLimiter = -1, nil
	authentication, err := authenticationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, err
	}
	return &reviews{
		tokens:     authentication.TokenReviews(),
		accesses:   authorization.SubjectAccessReviews(),
		identities: newReviewCache(func(i identity) bool { return i.user != nil }),
		decisions:  newReviewCache(func(d decision) bool { return d.allowed }),
	}, nil
}

// authenticate returns the token's user, or errUnknown. A review with an error in its status counts
// as a refusal, as in the API server: a malformed or expired token has one. In controller-runtime
// the client gets 500 then, and looks for the mistake on the wrong side.
func (r *reviews) authenticate(
	ctx context.Context, token string,
) (*authenticationv1.UserInfo, error) {
	spec := authenticationv1.TokenReviewSpec{Token: token}
	who, err := r.identities.get(ctx, hash([]byte(token)),
		func(ctx context.Context) (who identity, keep time.Duration, err error) {
			keep = tokenFor
			err = again(ctx, func(ctx context.Context) error {
				review, err := r.tokens.Create(ctx,
					&authenticationv1.TokenReview{Spec: spec}, metav1.CreateOptions{})
				switch {
				case err != nil:
					return fmt.Errorf("create a TokenReview: %w", err)
				case review.Spec.Token != token:
					return fmt.Errorf("create a TokenReview: %w", errStranger)
				case review.Status.Authenticated:
					who.user = &review.Status.User
				case review.Status.Error != "":
					who.why, keep = review.Status.Error, failureFor
				}
				return nil
			})
			return who, keep, err
		})
	if err == nil && who.user == nil {
		return nil, fmt.Errorf("%w: %s", errUnknown, who.why)
	}
	return who.user, err
}

// authorize returns whether the user may make this request.
func (r *reviews) authorize(
	ctx context.Context, user *authenticationv1.UserInfo, verb, path string,
) (decision, error) {
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups,
		NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb},
	}
	if user.Extra != nil {
		spec.Extra = map[string]authorizationv1.ExtraValue{}
		for key, value := range user.Extra {
			spec.Extra[key] = authorizationv1.ExtraValue(value)
		}
	}
	encoded, err := json.Marshal(spec)
	if err != nil {
		return decision{}, err
	}
	return r.decisions.get(ctx, hash(encoded),
		func(ctx context.Context) (d decision, keep time.Duration, err error) {
			err = again(ctx, func(ctx context.Context) error {
				review, err := r.accesses.Create(ctx,
					&authorizationv1.SubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
				if err != nil {
					return fmt.Errorf("create a SubjectAccessReview: %w", err)
				}
				if review.Spec.User != user.Username || review.Spec.NonResourceAttributes == nil {
					return fmt.Errorf("create a SubjectAccessReview: %w", errStranger)
				}
				d = decision{
					allowed: review.Status.Allowed && !review.Status.Denied,
					reason:  review.Status.Reason,
				}
				return nil
			})
			if d.allowed {
				return d, allowedFor, err
			}
			return d, deniedFor, err
		})
}

func hash(key []byte) string {
	sum := sha256.Sum256(key)
	return string(sum[:])
}

// again retries until the call succeeds, or fails with an error that a retry doesn't change.
func again(ctx context.Context, do func(ctx context.Context) error) error {
	pause := firstPause
	for n := 1; ; n++ {
		limited, cancel := context.WithTimeout(ctx, reviewLimit)
		err := do(limited)
		cancel()
		if err == nil || n == tries || !mayPass(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause = pause * 3 / 2
	}
}

// mayPass returns true for network errors, for a server that is overloaded or broken, and for what
// a proxy says in its place.
func mayPass(err error) bool {
	var status apierrors.APIStatus
	return !errors.As(err, &status) || apierrors.IsTooManyRequests(err) ||
		status.Status().Code >= http.StatusInternalServerError ||
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}
