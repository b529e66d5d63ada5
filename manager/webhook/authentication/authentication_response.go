package authentication

import authenticationv1 "k8s.io/api/authentication/v1"

// Authenticated says whose token it is. The reason, if there is one, goes into the status's field error.
func Authenticated(reason string, user authenticationv1.UserInfo) Response {
	return ReviewResponse(true, user, reason)
}

// Unauthenticated says that the token is not valid. The user is not passed on.
func Unauthenticated(reason string, _ authenticationv1.UserInfo) Response {
	return ReviewResponse(false, authenticationv1.UserInfo{}, reason)
}

// Errored says that the webhook could not find out.
func Errored(err error) Response {
	return ReviewResponse(false, authenticationv1.UserInfo{}, err.Error())
}

// ReviewResponse says whether a token is valid, whose it is, and for which audiences.
func ReviewResponse(authenticated bool, user authenticationv1.UserInfo, err string, audiences ...string) Response {
	return Response{TokenReview: authenticationv1.TokenReview{Status: authenticationv1.TokenReviewStatus{
		Authenticated: authenticated, User: user, Audiences: audiences, Error: err,
	}}}
}
