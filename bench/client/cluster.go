package main

import (
	"fmt"
	"slices"
)

// cluster has nodes in sites, Services with one slice each whose endpoints are spread
// over the sites. The number of sites divides 10.
type cluster struct {
	Services  int `json:"services"`
	Endpoints int `json:"endpoints"`
	Nodes     int `json:"nodes"`
	Sites     int `json:"sites"`
}

// labels is what a decision depends on: the labels of the node that the wrapper serves, and the site
// that the node of one crowd is at. Those of the others are at home. Rooms count only where the keys name
// them; a zone holds the same nodes as a site, while all are at home.
type labels struct {
	noRooms   bool
	room      string
	site      int
	crowd, at int
}

const (
	ownName   = "node-0-0"
	siteLabel = "bench.example/site"
	roomLabel = "bench.example/room"
	zoneLabel = "topology.kubernetes.io/zone"
	// topologyKeys is the annotation of all Services, unless others are asked for.
	topologyKeys = `["kubernetes.io/hostname","` + roomLabel + `","` + siteLabel + `","*"]`
)

// rooms hold one node each, besides our own: when our node moves from one to the other, the
// Services that have an endpoint on these nodes change, and no others.
var rooms = [2]string{"room-0", "room-1"}

// crowd is a node, besides the others of its site, that holds an endpoint of one in `every` Services.
type crowd struct{ every, first int }

// crowds are there to be moved: few, some and many Services know them.
var crowds = [3]crowd{{1000, 7}, {100, 8}, {10, 9}}

func siteName(site int) string { return fmt.Sprintf("site-%d", site) }

func zoneName(site int) string { return fmt.Sprintf("zone-%d", site) }

func nodeName(site, index int) string { return fmt.Sprintf("node-%d-%d", site, index) }

func (w cluster) perSite() int { return w.Nodes / w.Sites }

// place returns the node of an endpoint of a Service. Ten endpoints in ten sites lie in one each.
func (w cluster) place(service, endpoint int) (site, index int) {
	site = (service + endpoint) % w.Sites
	if endpoint == w.Endpoints/2 {
		for i, crowd := range crowds {
			if service%crowd.every == crowd.first {
				return site, w.perSite() + i
			}
		}
	}
	return site, (service/w.Sites + endpoint + endpoint/w.Sites) % w.perSite()
}

// atHome are the labels of a new cluster.
func (w cluster) atHome() labels {
	home, _ := w.home(0)
	return labels{room: rooms[0], site: 0, crowd: 0, at: home}
}

// home returns the node of the crowd at this position: it holds the same endpoint of all its Services.
func (w cluster) home(i int) (site, index int) {
	return (crowds[i].first + w.Endpoints/2) % w.Sites, w.perSite() + i
}

// roomOf is empty for all nodes but two (and our own, which is in one of the rooms).
func (w cluster) roomOf(site, index int) string {
	for i, room := range rooms {
		if site == (w.Sites/2+i)%w.Sites && index == (w.Sites/2+i+1)%w.perSite() {
			return room
		}
	}
	return ""
}

// visible is what the keys choose for our node: the endpoints, by their position in the slice.
func (w cluster) visible(service int, own labels) []int {
	matches := []func(site, index int) bool{
		func(site, index int) bool { return site == 0 && index == 0 },
		func(site, index int) bool { return !own.noRooms && w.roomOf(site, index) == own.room },
		func(site, index int) bool { return w.siteOf(site, index, own) == own.site },
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

// siteOf returns where a node is whose home is this site.
func (w cluster) siteOf(site, index int, now labels) int {
	if index == w.perSite()+now.crowd {
		return now.at
	}
	return site
}

// changed counts the Services whose endpoints differ for our node between two states of the labels.
func (w cluster) changed(before, after labels) int {
	count := 0
	for service := range w.Services {
		if !slices.Equal(w.visible(service, before), w.visible(service, after)) {
			count++
		}
	}
	return count
}

func serviceName(service int) string { return fmt.Sprintf("bench-%05d", service) }

func sliceName(service int) string { return serviceName(service) + "-" + suffix("slice", service, 5) }
