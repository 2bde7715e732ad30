package cli

import (
	"strings"
	"testing"
	"time"

	"toa.io/toa/internal/sdk"
	"toa.io/toa/orchestrator"
)

func TestStatusText(t *testing.T) {
	s := &sdk.Status{Name: "shop", Namespace: "prod", Server: "https://cluster.test"}
	if got, want := statusText(s), "shop in prod at https://cluster.test\nnothing was released yet\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	s.Holder = "ci@runner (pid 1)"
	s.Revisions = []sdk.Revision{
		{Revision: 12, Status: "deployed", Updated: time.Unix(1800000000, 0), Chart: "shop-0.2.0"},
		{Revision: 9, Status: "failed", Updated: time.Unix(1700000000, 0), Chart: "shop-0.1.0", Description: "not ready\x1b[2J"},
	}
	s.Workloads = []orchestrator.Workload{
		{Kind: "Deployment", Name: "composition-edge", Ready: 2, Desired: 2},
		{Kind: "Deployment", Name: "composition-back", Desired: 2, Reason: "ImagePullBackOff"},
	}
	s.Images = []string{"registry.test/shop/composition-edge:t@sha256:00"}
	want := `shop in prod at https://cluster.test
being worked on by ci@runner (pid 1)

REVISION  STATUS    UPDATED                  CHART       DESCRIPTION
12        deployed  2027-01-15 08:00:00 UTC  shop-0.2.0
9         failed    2023-11-14 22:13:20 UTC  shop-0.1.0  not ready\x1b[2J

WORKLOAD                     READY  REASON
Deployment composition-edge  2/2
Deployment composition-back  0/2    ImagePullBackOff

IMAGE
registry.test/shop/composition-edge:t@sha256:00
`
	if got := statusText(s); got != want {
		t.Errorf("got\n%s\nwant\n%s", strings.ReplaceAll(got, " ", "·"), want)
	}
}
