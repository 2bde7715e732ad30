package cluster

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"

	"toa.io/toa/chart"
	"toa.io/toa/internal/kubetest"
)

// compositions is how many a large workspace has.
const compositions = 500

// large is a release of many compositions, of which the first has an image of
// its own.
func (b *bed) large(first string) *chart.Chart {
	units := make([]unit, compositions)
	for i := range units {
		units[i] = unit{name: fmt.Sprintf("c%03d", i)}
	}
	units[0].image = "registry.test/first:" + first
	return b.chart(units, configMap("components", "1"))
}

func largeBed(b *testing.B) *bed {
	b.Helper()
	bed := bedIn(b, kubetest.Start(b, kubetest.Nodes(4), kubetest.TrustImages()))
	order := bed.order("0", bed.large("0"))
	order.Timeout = 10 * time.Minute
	bed.apply(order)
	return bed
}

// A release that would change nothing: at most 2 requests and one second.
func BenchmarkUnchanged(b *testing.B) {
	bed := largeBed(b)
	var requests int64
	for b.Loop() {
		c := opened(b, bed.Target)
		if _, current, err := c.Current(b.Context(), key("0")); err != nil || !current {
			b.Fatalf("Current = %v, %v", current, err)
		}
		requests = c.Requests()
	}
	b.ReportMetric(float64(requests), "requests/op")
}

// A release where one image of many changes, waited for, against Helm with its
// own limits and its own waiting.
func BenchmarkUpgrade(b *testing.B) {
	bed := largeBed(b)
	n := 0
	b.Run("toa", func(b *testing.B) {
		for b.Loop() {
			n++
			order := bed.order(strconv.Itoa(n), bed.large(strconv.Itoa(n)))
			order.Timeout = 10 * time.Minute
			bed.apply(order)
		}
		b.ReportMetric(peak(b), "peak-MiB")
	})
	b.Run("helm", func(b *testing.B) {
		for b.Loop() {
			n++
			bed.helmUpgrade(bed.large(strconv.Itoa(n)))
		}
	})
}

// helmUpgrade upgrades as the helm command does.
func (b *bed) helmUpgrade(c *chart.Chart) {
	b.Helper()
	slow := opened(b, b.Target)
	slow.config.QPS, slow.config.Burst = 5, 100
	client := kube.New(slow)
	client.Namespace = b.Namespace
	releases, _ := slow.storage(func() error { return nil })
	upgrade := action.NewUpgrade(&action.Configuration{
		RESTClientGetter: slow, Releases: releases, KubeClient: client, Log: func(string, ...any) {},
	})
	upgrade.Namespace, upgrade.ResetValues, upgrade.Wait, upgrade.Timeout = b.Namespace, true, true, 30*time.Minute
	loaded, err := load(c)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := upgrade.Run(b.Cluster.Name, loaded, nil); err != nil {
		b.Fatal(err)
	}
}

// peak is the most memory that this process has used, in MiB.
func peak(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip("this system does not tell how much memory was used")
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	fields := strings.Fields(after)
	kib, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
