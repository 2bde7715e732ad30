package cluster

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestProcessMarks(t *testing.T) {
	own := ownMark()
	if own == "" {
		t.Skip("this system does not tell processes apart for good")
	}
	if surelyDead(own) {
		t.Errorf("this process (%s) is taken for dead", own)
	}
	space, _, _ := strings.Cut(own, " ")
	tests := map[string]struct {
		mark string
		dead bool
	}{
		"an earlier one of the same number": {own + "0", true},
		"a number that nobody has":          {space + " 999999999 1", true},
		"another kernel":                    {"b0b0" + own, false},
		"no mark":                           {"", false},
		"no number":                         {space + " x 1", false},
		"only a space":                      {space, false},
	}
	for name, test := range tests {
		if got := surelyDead(test.mark); got != test.dead {
			t.Errorf("%s: surelyDead(%q) = %v, want %v", name, test.mark, got, test.dead)
		}
	}
}

// A process that has ended is dead even before its parent has looked.
func TestZombieIsDead(t *testing.T) {
	if ownMark() == "" {
		t.Skip("this system does not tell processes apart for good")
	}
	child := exec.Command("/bin/sh", "-c", "read -r line")
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	began := beginning(child.Process.Pid)
	if began == "" {
		t.Error("a living child is not seen")
	}
	_ = in.Close()
	for deadline := time.Now().Add(time.Minute); beginning(child.Process.Pid) != ""; {
		if time.Now().After(deadline) {
			t.Fatal("a child that has ended is taken for alive")
		}
	}
	if err := child.Wait(); err == nil {
		t.Log("the child found its line")
	}
	if got := beginning(os.Getpid()); got == "" {
		t.Error("this process is not seen")
	}
}

func TestJobAddress(t *testing.T) {
	tests := map[string]struct {
		env  map[string]string
		want string
	}{
		"none":             {nil, ""},
		"GitLab":           {map[string]string{"CI_JOB_URL": "https://git.test/shop/-/jobs/7"}, "https://git.test/shop/-/jobs/7"},
		"GitHub":           {map[string]string{"GITHUB_SERVER_URL": "https://github.test", "GITHUB_REPOSITORY": "a/b", "GITHUB_RUN_ID": "9"}, "https://github.test/a/b/actions/runs/9"},
		"half of GitHub":   {map[string]string{"GITHUB_SERVER_URL": "https://github.test"}, ""},
		"secrets in it":    {map[string]string{"BUILD_URL": "https://bob:pw@ci.test/job/1?token=secret#x"}, "https://ci.test/job/1"},
		"not an address":   {map[string]string{"BUILD_URL": "build 7"}, ""},
		"a broken address": {map[string]string{"BUILD_URL": "https://%zz"}, ""},
	}
	for name, test := range tests {
		if got := job(func(key string) string { return test.env[key] }); got != test.want {
			t.Errorf("%s: job = %q, want %q", name, got, test.want)
		}
	}
}
