package images

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// permission is what a call is sent with, and the scopes that it is good for.
// Where the registry gives no token to push, reading goes on with one to pull;
// the specification has servers grant less instead
// (https://distribution.github.io/distribution/spec/auth/token), which not all
// do: Google's refuse (GoogleContainerTools/kaniko#1256), and GitHub's refuse who
// is nobody. After the first refusal nothing that reads asks for more.
func (r *repository) permission(ctx context.Context, c call) (scopes []string, authorization string, err error) {
	var refusal *RegistryError
	if r.pushes && (c.writes() || !r.refusesPush.Load()) {
		scopes = r.scopes("pull,push", c.pull)
		authorization, err = r.authorization(ctx, scopes)
		if !errors.As(err, &refusal) || !refusal.isRefusal() || c.pull != "" {
			return scopes, authorization, err // what refuses a mount may be the other repository
		}
		r.refusesPush.Store(true)
	}
	scopes = r.scopes("pull", c.pull)
	authorization, err = r.authorization(ctx, scopes)
	if err == nil && refusal != nil && c.writes() {
		err = &ReadOnlyError{Host: r.registry.RegistryStr(), Repository: r.name.RepositoryStr(), Refusal: refusal}
	}
	return scopes, authorization, err
}

// scopes are what a token must be good for. One that may push serves the
// looking up before it too.
func (r *repository) scopes(actions, pull string) []string {
	scopes := []string{"repository:" + r.name.RepositoryStr() + ":" + actions}
	if pull != "" {
		scopes = append(scopes, "repository:"+pull+":pull")
	}
	return scopes
}

// writes tells whether the call needs more than reading does.
func (c call) writes() bool { return c.method != http.MethodGet && c.method != http.MethodHead }

// ReadOnlyError says that a registry gives an account a token to pull of a
// repository, and none to push.
type ReadOnlyError struct {
	Host, Repository string
	// Refusal is what was answered to the asking for a token to push.
	Refusal *RegistryError
}

func (e *ReadOnlyError) Error() string {
	return fmt.Sprintf("%s lets this account read %s, and not write there: %v", e.Host, e.Repository, e.Refusal)
}

func (e *ReadOnlyError) Unwrap() error { return e.Refusal }

// Hint is how to mend it.
func (e *ReadOnlyError) Hint() string {
	return "log in with an account that may push (docker login " + e.Host + "), or get this one the right"
}
