// What the rounds of the Go clients share: running checks, waiting, comparing.
package main

import (
	"fmt"
	"os"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var (
	address       = "127.0.0.1:" + os.Getenv("PORT")
	lockedAddress = "127.0.0.1:" + os.Getenv("LOCKED_PORT")
	password      = os.Getenv("PASSWORD")
)

var (
	upgradeAddress = "127.0.0.1:" + os.Getenv("UPGRADE_PORT")
	upgradePid, _  = strconv.Atoi(os.Getenv("UPGRADE_PID")) // 0: it is not dueq
)

// What only dueq has.
var own = map[string]bool{"upgrade": true, "claim": true, "cut": true, "lease": true}

type check struct {
	name string
	run  func()
}

// must stops the check with the error; checks are run with a recover around them.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func expect(wanted, got interface{}) {
	if !reflect.DeepEqual(wanted, got) {
		panic(fmt.Sprintf("wanted %v, got %v", wanted, got))
	}
}

func expectMembers(wanted, got []string) {
	unique := map[string]bool{}
	for _, member := range got {
		unique[member] = true
	}
	members := []string{}
	for member := range unique {
		members = append(members, member)
	}
	sort.Strings(members)
	wanted = append([]string{}, wanted...)
	sort.Strings(wanted)
	expect(wanted, members)
}

func everySecond(items []string) []string {
	var even []string
	for i := 0; i < len(items); i += 2 {
		even = append(even, items[i])
	}
	return even
}

func waitFor(condition func() bool) {
	for i := 0; i < 1000; i++ {
		if condition() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	panic("waited for nothing")
}

func hasBlocked(info string, clients int) bool {
	return strings.Contains(info, fmt.Sprintf("blocked_clients:%d\r", clients))
}

func runOf(info string) string {
	return strings.SplitN(strings.SplitN(info, "run_id:", 2)[1], "\r", 2)[0]
}

// upgradeThrice replaces the server three times while elements are pushed; it returns how many.
func upgradeThrice(info func() string, push func() int64) int64 {
	pushed := int64(0)
	for i := 0; i < 3; i++ {
		before := runOf(info())
		must(syscall.Kill(upgradePid, syscall.SIGUSR2))
		for runOf(info()) == before {
			pushed++
			expect(pushed, push())
		}
	}
	return pushed
}

func scanKeys() []string {
	keys := make([]string, 500)
	for i := range keys {
		keys[i] = fmt.Sprintf("scan:%d", i)
	}
	return keys
}

func runCheck(c check) {
	if upgradePid == 0 && own[c.name] {
		fmt.Println("skip", c.name)
		return
	}
	defer func() {
		if failure := recover(); failure != nil {
			fmt.Println("FAIL", c.name, strings.ReplaceAll(fmt.Sprint(failure), "\n", " "))
		}
	}()
	c.run()
	fmt.Println("ok", c.name)
}

func runChecks(checks []check) {
	for _, c := range checks {
		runCheck(c)
	}
}
