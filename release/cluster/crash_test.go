package cluster

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	helm "helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"toa.io/toa/internal/kubetest"
	"toa.io/toa/orchestrator"
	"toa.io/toa/release"
)

// units are three Deployments that differ by generation.
func units(generation int) []unit {
	env := map[string]string{"GENERATION": fmt.Sprint(generation)}
	return []unit{{name: "orders", env: env}, {name: "carts", env: env}, {name: "mail", env: env}}
}

// generation is a release of everything as of one generation; each has an
// object that no other has.
func (b *bed) generation(n int) release.Order {
	text := fmt.Sprint(n)
	return b.order(text, b.chart(units(n), configMap("shared", text), configMap("only-"+text, text)))
}

// wantGeneration fails unless exactly that generation is in the cluster.
func (b *bed) wantGeneration(n int) {
	b.Helper()
	for _, u := range units(n) {
		if d := b.deployment(u.name); d == nil || env(d, "GENERATION") != fmt.Sprint(n) {
			b.Errorf("%s is not of generation %d: %+v", u.name, n, d)
		}
	}
	all, err := b.kube.CoreV1().ConfigMaps(b.Namespace).List(b.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/managed-by=Helm"})
	if err != nil {
		b.Fatal(err)
	}
	var names []string
	for _, m := range all.Items {
		names = append(names, m.Name)
	}
	if want := []string{fmt.Sprintf("only-%d", n), "shared"}; !slices.Equal(names, want) {
		b.Errorf("generation %d has config maps %q, want %q", n, names, want)
	}
	if last := b.statuses(); last[len(last)-1] != deployed || strings.Count(fmt.Sprint(last), "deployed") != 1 {
		b.Errorf("revisions are %q, want that only the last is deployed", last)
	}
	b.wantNobody()
}

// child is a child process that makes a release, held by its pipes.
type child struct {
	*exec.Cmd
	in   *os.File
	out  io.Closer
	said *bufio.Scanner
}

// spawn starts a child with an order, and more in its environment.
func (b *bed) spawn(order release.Order, env ...string) *child {
	b.Helper()
	command := b.worker(nil).Command
	c := &child{Cmd: exec.Command(command[0], command[1:]...)}
	c.Env = append(os.Environ(), env...)
	read, write, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	c.Stdin, c.in = read, write
	out, err := c.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	c.out, c.said = out, bufio.NewScanner(out)
	if err := c.Start(); err != nil {
		b.Fatal(err)
	}
	_ = read.Close()
	line, err := json.Marshal(order)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := write.Write(append(line, '\n')); err != nil {
		b.Fatal(err)
	}
	return c
}

// end reads what the child says to the end, and returns its last word.
func (c *child) end() (last release.Message) {
	for c.said.Scan() {
		last = release.Message{}
		_ = json.Unmarshal(c.said.Bytes(), &last)
	}
	_ = c.Wait()
	_ = c.in.Close()
	return last
}

// points are n moments spread over a while, in no order.
func points(n int, while time.Duration) []time.Duration {
	all := make([]time.Duration, n)
	for i := range all {
		all[i] = while * time.Duration(i) / time.Duration(n)
	}
	rand.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// Whenever a run is killed, the next one lands, and what is then in the cluster
// is what it released and nothing else.
func TestKilledAtTwentyPoints(t *testing.T) {
	t.Parallel()
	const lanes, each = 4, 5
	for lane := range lanes {
		t.Run(fmt.Sprint(lane), func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			began := time.Now()
			if last := b.spawn(b.generation(0)).end(); last.Result == nil {
				t.Fatalf("the first release ended with %+v", last.Failure)
			}
			while := time.Since(began)
			for i, point := range points(each, while) {
				killed := b.spawn(b.generation(2*i + 1))
				timer := time.AfterFunc(point+while/each*time.Duration(lane)/lanes, func() { _ = killed.Process.Kill() })
				killed.end()
				timer.Stop()
				t.Logf("killed after %s", point)
				b.apply(b.generation(2*i + 2))
				b.wantGeneration(2*i + 2)
			}
		})
	}
}

// A first install that is killed is gone on from.
func TestKilledFirstInstall(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	order := b.generation(1)
	order.Chart = b.chart([]unit{{name: "orders", annotations: map[string]string{kubetest.NeverReady: "true"}}}, configMap("only-1", "1"))
	killed := b.spawn(order)
	b.until("the first release is pending", func() bool { return b.deployment("orders") != nil })
	_ = killed.Process.Kill()
	killed.end()
	b.wantStatuses(helm.StatusPendingInstall)

	var said told
	if _, err := b.Apply(t.Context(), b.generation(2), said.tell); err != nil {
		t.Fatalf("Apply = %v", err)
	}
	if want := "revision 1 was left pending-install by a run that is gone"; !strings.Contains(said.text(), want) {
		t.Errorf("told was %q, want %q", said.text(), want)
	}
	b.wantGeneration(2)
}

// until waits for a condition, with a deadline.
func (b *bed) until(what string, holds func() bool) {
	b.Helper()
	for deadline := time.Now().Add(60 * time.Second); !holds(); {
		if time.Now().After(deadline) {
			b.Fatalf("not within a minute: %s", what)
		}
		if err := pause(b.Context(), 20*time.Millisecond); err != nil {
			b.Fatal(err)
		}
	}
}

// A run that is stopped leaves what stood, whenever that happens.
func TestStoppedAtTenPoints(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	began := time.Now()
	b.apply(b.generation(1))
	while := time.Since(began)
	standing := 1
	for i, point := range points(10, while) {
		ctx, cancel := context.WithCancel(t.Context())
		timer := time.AfterFunc(point, cancel)
		began := time.Now()
		next := standing + 100 + i
		_, err := b.Apply(ctx, b.generation(next), new(told).tell)
		timer.Stop()
		cancel()
		var settled *SettledError
		if err == nil || errors.As(err, &settled) && strings.HasSuffix(settled.Settled, "is deployed") {
			standing = next // all that was left to do was to see the old pods go
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("stopped after %s: %v, want that it was stopped", point, err)
		}
		if took := time.Since(began); took > point+release.SettleLimit {
			t.Errorf("stopped after %s, settled after %s", point, took)
		}
		b.wantStanding(standing, point)
	}
}

// wantStanding fails unless a generation is applied; the newest revision is
// deployed, or it failed before anything was applied.
func (b *bed) wantStanding(n int, point time.Duration) {
	b.Helper()
	for _, u := range units(n) {
		if got := env(b.deployment(u.name), "GENERATION"); got != fmt.Sprint(n) {
			b.Errorf("stopped after %s, %s is of generation %s, want %d", point, u.name, got, n)
		}
	}
	if last := b.statuses(); unfinishedStatus(last[len(last)-1]) {
		b.Errorf("stopped after %s, revisions are %q", point, last)
	}
	b.wantNobody()
}

// A signal and the end of the parent both settle a release.
func TestChildSettles(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*child){
		"signal":     func(c *child) { _ = c.Process.Signal(syscall.SIGTERM) },
		"parent end": func(c *child) { _ = c.in.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.apply(b.generation(1))
			order := b.generation(2)
			order.Chart = b.chart([]unit{{name: "orders", annotations: map[string]string{kubetest.NeverReady: "true"}}})
			c := b.spawn(order)
			b.until("the release is under way", func() bool { return b.deployment("carts") == nil })
			stop(c)
			last := c.end()
			if last.Failure == nil || last.Failure.Settled != "rolled back to revision 1" {
				t.Errorf("last word is %+v, want that it was rolled back", last)
			}
			b.wantGeneration(1)
		})
	}
}

// A child whose parent was killed says nothing to anybody, and settles.
func TestOrphanSettles(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.apply(b.generation(1))
	order := b.generation(2)
	order.Chart = b.chart([]unit{{name: "orders", annotations: map[string]string{kubetest.NeverReady: "true"}}})
	c := b.spawn(order)
	b.until("the release is under way", func() bool { return b.deployment("carts") == nil })
	_ = c.out.Close() // nobody reads what it says any more
	_ = c.in.Close()
	b.until("the release is settled", func() bool {
		who, err := b.holder(t.Context())
		return err == nil && who == ""
	})
	_ = c.Wait()
	b.wantGeneration(1)
}

// Of many runs at once one goes at a time, and each lands or says who was there.
func TestTwentyRunsAtOnce(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	const runs = 20
	made, errs := make([]orchestrator.Release, runs), make([]error, runs)
	var wg sync.WaitGroup
	for i := range runs {
		wg.Go(func() {
			text := fmt.Sprint(i / 2) // each twice
			order := b.order(text, b.chart(nil, configMap("shared", text), configMap("only-"+text, text)))
			order.Wait, order.Timeout = false, 10*time.Minute
			made[i], errs[i] = opened(t, b.Target).Apply(t.Context(), order, new(told).tell)
		})
	}
	wg.Wait()
	seen := map[int]int{}
	for i := range runs {
		if errs[i] != nil {
			t.Errorf("run %d = %v", i, errs[i])
		}
		if made[i].Status == orchestrator.ReleaseApplied {
			seen[made[i].Revision]++
		}
	}
	for revision, n := range seen {
		if n != 1 {
			t.Errorf("revision %d was made %d times", revision, n)
		}
	}
	last, err := b.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if newest := slices.Max(slices.Collect(maps.Keys(seen))); last.Deployed().Revision != newest {
		t.Errorf("revision %d is deployed, want %d, which was made last", last.Deployed().Revision, newest)
	}
	b.wantNobody()
}

// hold makes a lease that someone else holds.
func (b *bed) hold(renewed time.Time, seconds int32) *coordinationv1.Lease {
	b.Helper()
	who, stamp := "eve@elsewhere", metav1.NewMicroTime(renewed)
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: leaseName(b.Cluster.Name), Annotations: map[string]string{markAnnotation: "another kernel 1 1"}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who, LeaseDurationSeconds: &seconds, RenewTime: &stamp},
	}
	l, err := b.kube.CoordinationV1().Leases(b.Namespace).Create(b.Context(), l, metav1.CreateOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return l
}

// A holder elsewhere counts as gone when it has not renewed for its duration by
// our clock; what its own clock says does not matter.
func TestClocksOfOthersDoNotMatter(t *testing.T) {
	t.Parallel()
	for name, skew := range map[string]time.Duration{"far ahead": 1000 * time.Hour, "far behind": -1000 * time.Hour} {
		t.Run(name+", gone", func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			b.hold(time.Now().Add(skew), 2)
			began := time.Now()
			b.apply(b.order("one", b.chart(nil, configMap("a", "1"))))
			if took := time.Since(began); took < 2*time.Second {
				t.Errorf("taken over after %s, want 2s at least", took)
			}
		})
		t.Run(name+", alive", func(t *testing.T) {
			t.Parallel()
			b := newBed(t)
			l := b.hold(time.Now().Add(skew), 10)
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() { b.renew(ctx, l, skew) })
			defer wg.Wait()
			defer cancel()
			order := b.order("one", b.chart(nil, configMap("a", "1")))
			order.Timeout = 15 * time.Second
			var said told
			_, err := b.Apply(t.Context(), order, said.tell)
			var held *HeldError
			if !errors.As(err, &held) || held.Holder != "eve@elsewhere" || held.Hint() == "" {
				t.Errorf("Apply = %v, want that eve holds it", err)
			}
			if !strings.Contains(said.text(), "waiting for eve@elsewhere") || strings.Count(said.text(), "eve") != 1 {
				t.Errorf("told was %q, want once whom it waits for", said.text())
			}
		})
	}
}

// renew renews a lease twice a second, by a clock that is wrong.
func (b *bed) renew(ctx context.Context, l *coordinationv1.Lease, skew time.Duration) {
	for pause(ctx, 500*time.Millisecond) == nil {
		stamp := metav1.NewMicroTime(time.Now().Add(skew))
		l.Spec.RenewTime = &stamp
		renewed, err := b.kube.CoordinationV1().Leases(b.Namespace).Update(ctx, l, metav1.UpdateOptions{})
		if err == nil {
			l = renewed
		}
	}
}

// A run that was taken for dead writes nothing once another has taken over.
func TestLostLease(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.lease = 9 * time.Second
	b.apply(b.generation(1))
	order := b.generation(2)
	order.Chart = b.chart([]unit{{name: "orders", annotations: map[string]string{kubetest.NeverReady: "true"}}})
	lost := make(chan error)
	go func() {
		_, err := b.Apply(t.Context(), order, new(told).tell)
		lost <- err
	}()
	b.until("the release is under way", func() bool { return b.deployment("carts") == nil })
	if err := b.kube.CoordinationV1().Leases(b.Namespace).Delete(t.Context(), leaseName("shop"), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.hold(time.Now(), 1)
	err := <-lost
	var settled *SettledError
	// Whether it saw eve or the moment before her is chance.
	if !isLost(err) || !errors.As(err, &settled) || settled.Settled != "left to the run that took over" {
		t.Errorf("Apply = %v, want that the lease was lost", err)
	}
	b.wantStatuses(deployed, helm.StatusPendingUpgrade)
	b.apply(b.generation(3)) // eve is gone too
	b.wantGeneration(3)
}

// plainly writes the record of a revision as plain Helm would, who hands on the
// labels of the one before.
func (b *bed) plainly(status helm.Status, begun time.Time) {
	b.Helper()
	all, err := b.History(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	releases, kept := b.storage(func() error { return nil })
	releases.Driver = kept.Driver
	next := *all.last()
	next.Version++
	next.Info = &helm.Info{Status: status, LastDeployed: helmtime.Time{Time: begun}}
	if err := releases.Create(&next); err != nil {
		b.Fatal(err)
	}
}

func TestPendingRevisionOfPlainHelm(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.apply(b.generation(1))
	b.plainly(helm.StatusPendingUpgrade, time.Now().Add(-time.Minute))
	_, err := b.Apply(t.Context(), b.generation(2), new(told).tell)
	var pending *PendingError
	if !errors.As(err, &pending) || pending.Revision != 2 || pending.Hint() == "" {
		t.Fatalf("Apply = %v, want that revision 2 is pending", err)
	}
	if err := b.pending(t.Context()); !errors.As(err, &pending) {
		t.Errorf("pending = %v before anything is built, want that revision 2 is", err)
	}
	b.wantStatuses(deployed, helm.StatusPendingUpgrade)
	b.wantNobody()

	releases, _ := b.storage(func() error { return nil })
	if _, err := releases.Delete("shop", 2); err != nil {
		t.Fatal(err)
	}
	b.plainly(helm.StatusPendingUpgrade, time.Now().Add(-2*patience))
	b.apply(b.generation(2))
	b.wantGeneration(2)
}

func TestAPIServerIsRestartedInTheMiddle(t *testing.T) {
	server := kubetest.Start(t)
	b := bedIn(t, server)
	b.apply(b.generation(1))
	order := b.generation(2)
	for i := range order.Chart.Files {
		if order.Chart.Files[i].Path == "templates/all.yaml" {
			order.Chart.Files[i].Data = []byte(strings.ReplaceAll(string(order.Chart.Files[i].Data), `test: "yes"`, kubetest.ReadyAfter+": 3s"))
		}
	}
	landed := make(chan error)
	go func() {
		_, err := b.Apply(t.Context(), order, new(told).tell)
		landed <- err
	}()
	b.until("the release is under way", func() bool {
		d := b.deployment("mail")
		return d != nil && env(d, "GENERATION") == "2"
	})
	server.RestartAPIServer(t)
	if err := <-landed; err != nil {
		t.Errorf("Apply = %v with the API server restarted in the middle", err)
	}
	b.wantGeneration(2)
}
