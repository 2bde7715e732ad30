package cluster

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"os/user"
	"time"
)

// holder names this process to people who wait for it: who, where, since when,
// and the job of a CI system where that is known.
func holder(now time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	text := fmt.Sprintf("%s@%s (pid %d, since %s", account(), host, os.Getpid(), now.UTC().Format(time.RFC3339))
	if job := job(os.Getenv); job != "" {
		text += ", " + job
	}
	return text + ")"
}

func account() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "someone")
}

// job is the address of the CI job that this runs in, without what may be
// secret in it; empty where there is none.
func job(env func(string) string) string {
	address := cmp.Or(
		env("CI_JOB_URL"),          // GitLab
		env("BUILDKITE_BUILD_URL"), // Buildkite
		env("CIRCLE_BUILD_URL"),    // CircleCI
		env("BUILD_URL"),           // Jenkins
		github(env),
	)
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// github is the address of a run of GitHub Actions, which gives it in pieces.
func github(env func(string) string) string {
	server, repository, run := env("GITHUB_SERVER_URL"), env("GITHUB_REPOSITORY"), env("GITHUB_RUN_ID")
	if server == "" || repository == "" || run == "" {
		return ""
	}
	return server + "/" + repository + "/actions/runs/" + run
}
