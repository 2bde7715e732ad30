package chart

import (
	"fmt"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/extensions"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

const (
	// Names of Deployments leave room for what is appended to name their pods.
	maxDeployment = 52
	maxDNSLabel   = 63
	maxSubdomain  = 253
	maxPath       = 4096
)

const (
	dnsLabel      = `[a-z0-9]([-a-z0-9]*[a-z0-9])?`
	subdomain     = dnsLabel + `(\.` + dnsLabel + `)*`
	dnsLabelText  = "lower-case letters, digits and hyphens"
	subdomainText = "lower-case letters, digits, hyphens and dots"
)

// form is what Kubernetes takes for a name.
type form struct {
	limit   int
	pattern *lazyregexp.Regexp
	// text is what the pattern says, in words.
	text string
}

func whole(pattern string) *lazyregexp.Regexp { return lazyregexp.New(`^(?:` + pattern + `)$`) }

var (
	// A chart is released under its own name.
	releaseName = form{53, whole(subdomain), subdomainText}
	// A component's label is part of the name of a pod label, and names a Service.
	componentLabel  = form{maxDNSLabel - len("component-"), whole(`[a-z]([-a-z0-9]*[a-z0-9])?`), dnsLabelText + ", a letter first"}
	compositionName = form{maxDeployment - len("composition-"), whole(dnsLabel), dnsLabelText}
	serviceID       = form{maxDeployment - len("extension-"), whole(dnsLabel), dnsLabelText}
	variableName    = form{maxSubdomain, whole(`\.?[-_a-zA-Z][-._a-zA-Z0-9]*`), "letters, digits, hyphens, dots and underscores, no digit and no two dots first"}
	objectName      = form{maxSubdomain, whole(subdomain), subdomainText}
	secretKey       = form{maxSubdomain, whole(`\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*`), "letters, digits, hyphens, dots and underscores, no two dots first"}
	volumeName      = form{maxDNSLabel, whole(dnsLabel), dnsLabelText}
	mountPath       = form{maxPath, whole(`/[^:]*`), "an absolute path without colons"}
	hostName        = form{maxSubdomain, whole(`(\*\.)?` + subdomain), subdomainText + ", with or without `*.` before"}
	urlPath         = form{maxPath, whole(`/\S*`), "an absolute path"}
	annotationKey   = form{
		maxSubdomain + len("/") + maxDNSLabel, whole(`(` + subdomain + `/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?`),
		"letters, digits, hyphens, dots and underscores, with or without a domain and a slash before",
	}
)

// checker checks names until the first that is wrong.
type checker struct{ err error }

// name checks that of a subject; owner is who has it, or empty.
func (c *checker) name(subject, owner, name string, f form) {
	if c.err != nil {
		return
	}
	wrong := &NameError{Subject: subject, Owner: owner, Name: name}
	switch {
	case len(name) > f.limit:
		wrong.Limit = f.limit
	case !f.pattern.MatchString(name):
		wrong.Form = f.text
	default:
		return
	}
	c.err = wrong
}

// volume is the name of a mount's volume: storages have names with underscores.
func volume(m extensions.Mount) string {
	return strings.ReplaceAll(strings.ToLower(m.Name), "_", "-")
}

// checkNames checks what the workspace itself names.
func checkNames(ws *workspace.Workspace) error {
	for _, component := range ws.Components {
		var c checker
		c.name("component", "", component.Label, componentLabel)
		if c.err != nil {
			return at(component.Position, c.err)
		}
	}
	var c checker
	c.name("context", "", Name(ws.Context.Name), releaseName)
	if credentials := ws.Context.Registry.Credentials; credentials != "" {
		c.name("registry credentials", "", credentials, objectName)
	}
	return at(document.Position{File: workspace.ContextFile}, c.err)
}

// at says where the mistake is, where that is known.
func at(position document.Position, err error) error {
	if err == nil || position.File == "" {
		return err
	}
	return fmt.Errorf("%s: %w", position, err)
}

// NameError is a name that Kubernetes does not take.
type NameError struct {
	// Subject is what bears the name: "context", "component", "service",
	// "variable" and others. Owner is what that belongs to, or empty.
	Subject, Owner string
	Name           string
	// Limit is in characters; zero when the name is not too long.
	Limit int
	// Form says what the name may consist of, when it is not too long.
	Form string
}

func (e *NameError) Error() string {
	what := fmt.Sprintf("%s name %q", e.Subject, e.Name)
	if e.Owner != "" {
		what = fmt.Sprintf("%s %q of %s", e.Subject, e.Name, e.Owner)
	}
	if e.Limit > 0 {
		return fmt.Sprintf("%s has %d characters, a release takes %d", what, len(e.Name), e.Limit)
	}
	return fmt.Sprintf("%s does not fit Kubernetes: expected %s", what, e.Form)
}

// Hint is how to mend it.
func (e *NameError) Hint() string {
	if e.Limit > 0 {
		return "shorten it, or use `--release none`"
	}
	return "rename it, or use `--release none`"
}

// Mistake is true: it is found before anything is touched.
func (*NameError) Mistake() bool { return true }
