package images

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// LockPlatformError says that a lockfile was made on another system and lacks
// what a package needs on a platform: npm leaves it out and says nothing
// (npm/cli#4828), so that the package fails when it runs.
type LockPlatformError struct {
	Component, LockName string
	// Package wants one of Missing on Platform.
	Package  string
	Missing  []string
	Platform string
}

func (e *LockPlatformError) Error() string {
	return fmt.Sprintf("install packages of %s: %s lacks %s, which %s needs on %s: it was made on another system, and npm leaves out what that one does not need",
		e.Component, e.LockName, strings.Join(e.Missing, ", "), e.Package, e.Platform)
}

// Hint is how to mend it.
func (e *LockPlatformError) Hint() string {
	return "make the lockfile anew where no node_modules is left: rm -rf node_modules " + e.LockName + " && npm install"
}

// lacks finds a package whose part for the target is not in the lockfile. Of
// such a part only the name is known, so what counts is what names say, and
// only where no other part of the package fits.
func (l npmLock) lacks(t npmTarget) *LockPlatformError {
	var first *LockPlatformError
	for at, p := range l.Packages {
		if !p.installed(t) || len(p.Optional) == 0 {
			continue
		}
		missing := l.missing(at, p, t)
		if len(missing) > 0 && (first == nil || npmName(at) < first.Package) {
			first = &LockPlatformError{Package: npmName(at), Missing: missing, Platform: t.String()}
		}
	}
	return first
}

func (l npmLock) missing(at string, p npmPackage, t npmTarget) []string {
	var missing []string
	for name := range p.Optional {
		found, ok := l.seenFrom(at, name)
		switch {
		case ok && found.installed(t) && len(found.CPU) > 0:
			return nil // the part of this platform
		case !ok && t.named(name):
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	return missing
}

// seenFrom finds a package as Node would from another one.
func (l npmLock) seenFrom(at, name string) (npmPackage, bool) {
	for {
		if p, ok := l.Packages[path.Join(at, npmModules, name)]; ok {
			return p, true
		}
		if at == "" {
			return npmPackage{}, false
		}
		up := strings.LastIndex(at, npmModules+"/")
		at = strings.TrimSuffix(at[:max(0, up)], "/")
	}
}

// named tells whether a package's name says that it is for the target, as
// "@rollup/rollup-linux-x64-musl" and "@img/sharp-linuxmusl-x64" do.
func (t npmTarget) named(name string) bool {
	words := strings.FieldsFunc(path.Base(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	says := func(beginning string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(strings.TrimPrefix(word, t.os), beginning) })
	}
	os := slices.ContainsFunc(words, func(word string) bool { return word == t.os || word == t.os+"musl" })
	if !os || !slices.Contains(words, t.cpu) {
		return false
	}
	musl, gnu := says("musl"), says("gnu") || says("glibc")
	return !musl && !gnu || musl && t.libc == "musl" || gnu && t.libc == "glibc"
}

func (t npmTarget) String() string { return t.os + "/" + t.cpu + " with " + t.libc }
