package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"k8s.io/kubernetes/pkg/credentialprovider"
)

// parameter is one of those that follow the scheme in a challenge.
var parameter = regexp.MustCompile(`(\w+)="([^"]*)"`)

func isBearer(challenge string) bool {
	name, _, _ := strings.Cut(challenge, " ")
	return strings.EqualFold(name, "bearer")
}

// token gets what a challenge asks for, from where the challenge says.
func (r Registries) token(ctx context.Context, challenge string, c credentialprovider.AuthConfig) (func(*http.Request), error) {
	realm, err := tokenURL(challenge)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, realm, http.NoBody)
	if err != nil {
		return nil, err
	}
	basic(c)(request)
	response, err := r.client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("failed to fetch token: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, errUnauthorized
	}
	var answer struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("failed to fetch token: %w", err)
	}
	if answer.Token == "" {
		answer.Token = answer.Access
	}
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+answer.Token) }, nil
}

// tokenURL is the realm of a challenge with its service and scope.
func tokenURL(challenge string) (string, error) {
	query, realm := url.Values{}, ""
	for _, m := range parameter.FindAllStringSubmatch(challenge, -1) {
		switch m[1] {
		case "realm":
			realm = m[2]
		case "service", "scope":
			query.Set(m[1], m[2])
		}
	}
	if realm == "" {
		return "", fmt.Errorf("challenge without a realm: %q", challenge)
	}
	return realm + "?" + query.Encode(), nil
}
