package main

import "fmt"

// world is the cluster: nodes in sites, Services with one slice each whose endpoints are spread
// over the sites.
type world struct {
	Services  int `json:"services"`
	Endpoints int `json:"endpoints"`
	Nodes     int `json:"nodes"`
	Sites     int `json:"sites"`
}

// ownNode is what a decision depends on: the labels of the node that the wrapper serves.
type ownNode struct{ room, site string }

const (
	ownName   = "node-0-0"
	siteLabel = "bench.example/site"
	roomLabel = "bench.example/room"
	// topologyKeys is the annotation of all Services.
	topologyKeys = `["kubernetes.io/hostname","` + roomLabel + `","` + siteLabel + `","*"]`
)

// rooms hold one node each, besides our own: when our node moves from one to the other, the
// Services that have an endpoint on these nodes change, and no others.
var rooms = [2]string{"room-0", "room-1"}

func siteName(site int) string { return fmt.Sprintf("site-%d", site) }

func nodeName(site, index int) string { return fmt.Sprintf("node-%d-%d", site, index) }

func (w world) perSite() int { return w.Nodes / w.Sites }

// place tells the node of an endpoint of a Service. Ten endpoints in ten sites lie in one each.
func (w world) place(service, endpoint int) (site, index int) {
	return (service + endpoint) % w.Sites, (service/w.Sites + endpoint + endpoint/w.Sites) % w.perSite()
}

// roomOf is empty for all nodes but two (and our own, which is in one of the rooms).
func (w world) roomOf(site, index int) string {
	for i, room := range rooms {
		if site == (w.Sites/2+i)%w.Sites && index == (w.Sites/2+i+1)%w.perSite() {
			return room
		}
	}
	return ""
}

// visible is what the keys choose for our node: the endpoints, by their position in the slice.
func (w world) visible(service int, own ownNode) []int {
	matches := []func(site, index int) bool{
		func(site, index int) bool { return nodeName(site, index) == ownName },
		func(site, index int) bool { return w.roomOf(site, index) == own.room },
		func(site, index int) bool { return siteName(site) == own.site },
		func(site, index int) bool { return true },
	}
	for _, match := range matches {
		var chosen []int
		for endpoint := range w.Endpoints {
			if match(w.place(service, endpoint)) {
				chosen = append(chosen, endpoint)
			}
		}
		if len(chosen) > 0 {
			return chosen
		}
	}
	return nil
}

// changed counts the Services whose endpoints differ between two states of our node.
func (w world) changed(before, after ownNode) int {
	count := 0
	for service := range w.Services {
		if fmt.Sprint(w.visible(service, before)) != fmt.Sprint(w.visible(service, after)) {
			count++
		}
	}
	return count
}

func serviceName(service int) string { return fmt.Sprintf("bench-%05d", service) }

func sliceName(service int) string { return serviceName(service) + "-x7k2p" }
