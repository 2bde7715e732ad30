package images

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"toa.io/toa/cache"
	"toa.io/toa/graph"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/orchestrator"
)

// NeedsEngineError says that a step has something that must run inside the
// image, which takes a builder with an engine.
type NeedsEngineError struct {
	Step graph.ID
	// Owner is who asked for it: "context" or a component ID.
	Owner string
	// What must run: `run line "apk add curl"`, `install scripts of bcrypt`.
	What string
}

func (e *NeedsEngineError) Error() string {
	return fmt.Sprintf("%s: %s, and the native builder runs nothing there", e.Step, e.reason())
}

// reason is what must run and who asked for it.
func (e *NeedsEngineError) reason() string {
	return fmt.Sprintf("%s (asked for by %s) must run inside the image", e.What, e.Owner)
}

// Hint is how to mend it.
func (e *NeedsEngineError) Hint() string {
	if strings.HasPrefix(e.What, "install scripts") {
		return "say `build.scripts: ignore` if the packages work without their install scripts, or use a builder with an engine"
	}
	return "use a base image that has it done already, or a builder with an engine"
}

// NotOnDiskError says that an image is not in the layout, or not with all of its
// blobs. It is a cache.ErrNotFound.
type NotOnDiskError struct {
	Reference orchestrator.Reference
}

func (e *NotOnDiskError) Error() string {
	return fmt.Sprintf("image %s is not on disk", e.Reference)
}

func (e *NotOnDiskError) Unwrap() error { return cache.ErrNotFound }

// Hint is how to mend it.
func (e *NotOnDiskError) Hint() string {
	return "`toa images ls` lists those that are; `toa build` makes them"
}

// NoPlatformError says that a base image is not made for a platform.
type NoPlatformError struct {
	Base, Platform string
	// Has are the platforms that there are.
	Has []string
}

func (e *NoPlatformError) Error() string {
	return fmt.Sprintf("base image %s has no platform %s (it has %s)", e.Base, e.Platform, strings.Join(e.Has, ", "))
}

// Hint is how to mend it.
func (e *NoPlatformError) Hint() string {
	return "state `registry.platforms` that the base image has, or another base image"
}

// RegistryError is an answer of a registry that is neither yes nor "not there".
// It holds nothing of the answer but what cannot be secret.
type RegistryError struct {
	Host   string
	Status int
	// Codes are those of the distribution specification, such as DENIED.
	Codes []string
	// Credentials says which were tried, where the registry refused them.
	Credentials string
	// Limited says that the registry is asked too much; RetryAfter is how long
	// it wants not to be, zero where it does not say.
	Limited    bool
	RetryAfter time.Duration
}

func (e *RegistryError) Error() string {
	text := fmt.Sprintf("%s answers %d %s", e.Host, e.Status, http.StatusText(e.Status))
	if len(e.Codes) > 0 {
		text += " (" + strings.Join(e.Codes, ", ") + ")"
	}
	if e.RetryAfter >= time.Second {
		text += ", and asks to wait for " + e.RetryAfter.Round(time.Second).String()
	}
	if e.Credentials != "" {
		text += "; tried with " + e.Credentials
	}
	return text
}

// isRefusal tells that it is not for these credentials.
func (e *RegistryError) isRefusal() bool {
	return !e.Limited && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// Hint is how to mend it.
func (e *RegistryError) Hint() string {
	switch {
	case e.Limited:
		return "the registry limits requests: try again later, or with fewer --jobs"
	case e.Status == http.StatusUnauthorized:
		return "log in: docker login " + e.Host
	case e.Status == http.StatusForbidden:
		return "the account of " + e.Host + " may not do this: log in with another one, or get it the right"
	case e.Status == http.StatusRequestEntityTooLarge:
		return tooLargeHint(e.Host)
	default:
		return ""
	}
}

// NoManifestError says that something else than a manifest came where a manifest
// was said to be.
type NoManifestError struct {
	Host string
	Err  error
}

func (e *NoManifestError) Error() string {
	return fmt.Sprintf("%s answers with what is no manifest: %v", e.Host, e.Err)
}

func (e *NoManifestError) Unwrap() error { return e.Err }

// Hint is how to mend it.
func (e *NoManifestError) Hint() string {
	return "something else may answer in the registry's place, such as a proxy or a page to log in at: look at what " + e.Host + "/v2/ says"
}

// NameError says that a registry cannot have a repository of a name.
type NameError struct {
	Name string
	Err  error
}

func (e *NameError) Error() string { return fmt.Sprintf("repository %q: %v", e.Name, e.Err) }

func (e *NameError) Unwrap() error { return e.Err }

// Hint is how to mend it.
func (e *NameError) Hint() string {
	switch {
	case hasScheme(e.Name):
		return "write the registry as host or host/path: which are spoken to without TLS is stated under registry.insecure in context.toa.yaml"
	case e.Name != strings.ToLower(e.Name):
		return "names in registries have no capital letters: " + strings.ToLower(e.Name)
	default:
		return ""
	}
}

// Mistake is true: it is found before anything is touched.
func (*NameError) Mistake() bool { return true }

// hasScheme tells addresses from names. What was joined with a path has one slash left.
func hasScheme(name string) bool {
	return strings.HasPrefix(name, "http:/") || strings.HasPrefix(name, "https:/")
}

// TooLargeError says that a registry, or what is in front of it, takes no
// request as large as a blob, and none as large as the smallest piece of it.
type TooLargeError struct {
	Host string
	// Size is that of the blob, in bytes.
	Size int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s takes no %.1f MiB, and no smaller pieces of them: 413 Request Entity Too Large", e.Host, float64(e.Size)/(1<<20))
}

// Hint is how to mend it.
func (e *TooLargeError) Hint() string { return tooLargeHint(e.Host) }

func tooLargeHint(host string) string {
	return "a proxy in front of " + host + " limits how large a request may be: raise its limit (client_max_body_size of nginx)"
}

// codePattern keeps texts out of errors that a registry may have put secrets in.
var codePattern = lazyregexp.New(`^[A-Z][A-Z_]{1,40}$`)

const maxErrorBody = 64 << 10

// answerError makes an error of an answer and closes it.
func (h *host) answerError(resp *http.Response) *RegistryError {
	defer func() { _ = resp.Body.Close() }()
	e := &RegistryError{Host: resp.Request.URL.Host, Status: resp.StatusCode}
	e.RetryAfter, e.Limited = complaint(resp)
	e.Credentials = h.refused(e)
	var body struct{ Errors []struct{ Code string } }
	if json.NewDecoder(io.LimitReader(resp.Body, maxErrorBody)).Decode(&body) != nil {
		return e
	}
	for _, one := range body.Errors {
		if codePattern.MatchString(one.Code) && !slices.Contains(e.Codes, one.Code) {
			e.Codes = append(e.Codes, one.Code)
		}
	}
	return e
}
