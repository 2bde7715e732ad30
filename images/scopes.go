package images

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// permission is what a call is sent with, and the scopes that it is good for.
// Where the registry gives no token to push, reading goes on with one to pull;
// the specification has servers grant less instead
// (https://distribution.github.io/distribution/spec/auth/token), which not all
// do: Google's refuse (GoogleContainerTools/kaniko#1256), and GitHub's refuse who
// is nobody. After the first refusal nothing that reads asks for more. A call is
// insistent on what it cannot do without: to write that is to push.
func (r *repository) permission(ctx context.Context, c call) (scopes []string, authorization string, err error) {
	var refusal *RegistryError
	if r.pushes && (c.writes() || !r.refusesPush.Load()) {
		scopes = r.scopes("pull,push", c.pull)
		authorization, err = r.authorization(ctx, scopes, c.writes() && c.pull == "")
		if !errors.As(err, &refusal) || !refusal.isRefusal() || c.pull != "" {
			return scopes, authorization, err // what refuses a mount may be the other repository
		}
		r.refusesPush.Store(true)
	}
	scopes = r.scopes("pull", c.pull)
	authorization, err = r.authorization(ctx, scopes, true)
	if err == nil && refusal != nil && c.writes() {
		err = r.readOnly(refusal)
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

// grantsLess tells whether a call that writes was refused because its token was
// good for less than was asked for: the registry says so, or the token itself.
// That of a mount may be short of the other repository.
func (r *repository) grantsLess(c call, resp *http.Response, authorization string) bool {
	token, isToken := strings.CutPrefix(authorization, "Bearer ")
	if !isToken || !c.writes() || c.pull != "" || resp.StatusCode != http.StatusUnauthorized || resp.Request.URL.Host != r.registry.RegistryStr() {
		return false
	}
	challenge := challengeOf(resp.Header)
	return challenge != nil && isInsufficient(challenge) || lacksPush(token, r.name.RepositoryStr())
}

// lacksPush tells whether a token says that it is not good for pushing to a
// repository, as JSON web tokens of the distribution say what they are good for.
// Nothing is believed of it but that: who checks tokens is the registry.
func lacksPush(token, repository string) bool {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Access []struct {
			Type, Name string
			Actions    []string
		}
	}
	if json.Unmarshal(raw, &claims) != nil || claims.Access == nil {
		return false
	}
	for _, one := range claims.Access {
		if one.Type == "repository" && one.Name == repository && (slices.Contains(one.Actions, "push") || slices.Contains(one.Actions, "*")) {
			return false
		}
	}
	return true
}

func (r *repository) readOnly(refusal *RegistryError) *ReadOnlyError {
	return &ReadOnlyError{Host: r.registry.RegistryStr(), Repository: r.name.RepositoryStr(), Refusal: refusal}
}

// ReadOnlyError says that an account may read a repository, and not write there:
// it got no token to push, or one that is good for less than was asked for.
type ReadOnlyError struct {
	Host, Repository string
	// Refusal is what was answered to who asked for a token to push, or pushed.
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
