package workspace

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// elsewhere tells whether a dependency says itself where it is: by an address,
// in a repository, or under another name.
func elsewhere(spec string) bool { return strings.ContainsAny(spec, ":/") }

// Satisfies tells whether npm takes a package of that version for what a
// dependency wants. A tag, such as "latest", is the registry's to know, so no
// version is what it wants.
func Satisfies(version, spec string) bool {
	spec = strings.TrimSpace(spec)
	if spec == "" || spec == "*" {
		return true // npm does not even look at the version
	}
	have, err := semver.NewVersion(version)
	if err != nil || strings.ContainsAny(spec, "!,") { // which the library reads, and npm does not
		return false
	}
	for wanted := range strings.SplitSeq(spec, "||") {
		if allows(wanted, have) {
			return true
		}
	}
	return false
}

// allows asks the library. Of versions before a release npm takes only those
// of a release that the range names such a version of, the library any.
func allows(wanted string, have *semver.Version) bool {
	constraint, err := semver.NewConstraint(wanted)
	if err != nil || !constraint.Check(have) {
		return false
	}
	if have.Prerelease() == "" {
		return true
	}
	release := fmt.Sprintf("%d.%d.%d-", have.Major(), have.Minor(), have.Patch())
	return regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(release)).MatchString(wanted)
}
