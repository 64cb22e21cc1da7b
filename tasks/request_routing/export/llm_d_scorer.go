// A scorer of llm-d's router that ranks replicas as the policy does: the interfaces are those of May 2026.
//
// In the router's `main`: plugin.Register(policy.PluginType, policy.Factory), and in its configuration the one scorer of
// a profile, before `max-score-picker`, with a producer of prefix matches. What the policy reads of a request comes in
// headers: x-slo-ttft-ms and x-slo-tpot-ms, and x-vulcan-predicted, x-vulcan-kind, x-vulcan-session and x-vulcan-turn;
// without, or where one is no number from 0 on, it is 0, and the turn 1. Four bytes of a request count as a token.
package policy

import (
	"context"
	"encoding/json"
	"math"
	"math/rand"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/datalayer"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/plugin"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/requestcontrol"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/plugins/datalayer/attribute/prefix"
)

const PluginType = "vulcan-scorer"

var _ scheduling.Scorer = (*Scorer)(nil)
var _ requestcontrol.PreRequest = (*Scorer)(nil)
var _ requestcontrol.ResponseBodyProcessor = (*Scorer)(nil)

type replica struct {
	number, mine, prefill, sent, chance float64
	reported                            time.Time
	fields                              *Fields
}

type dispatched struct {
	to       *replica
	features *Features
	new      float64 // tokens of its prompt that were to be computed
	since    time.Time
	began    bool
	ttft     float64
}

type Scorer struct {
	name       plugin.TypedName
	lock       sync.Mutex
	state      *State
	start      time.Time
	unfinished float64
	pods       float64 // of the last request
	replicas   map[string]*replica
	requests   map[string]*dispatched
}

func NewScorer(name string) *Scorer {
	state := NewState()
	state.Policy_random = uint64(WORKLOAD_SEED)
	return &Scorer{
		name: plugin.TypedName{Type: PluginType, Name: name}, state: state, start: time.Now(),
		replicas: map[string]*replica{}, requests: map[string]*dispatched{},
	}
}

func Factory(name string, _ json.RawMessage, _ plugin.Handle) (plugin.Plugin, error) {
	return NewScorer(name), nil
}

func (s *Scorer) TypedName() plugin.TypedName { return s.name }

func (s *Scorer) Category() scheduling.ScorerCategory { return scheduling.Balance }

func (s *Scorer) Consumes() map[string]any {
	return map[string]any{prefix.PrefixCacheMatchInfoKey: prefix.PrefixCacheMatchInfo{}}
}

// Score returns for each replica the share of the replicas that the policy puts no higher, as a score is to be from 0 to 1.
func (s *Scorer) Score(_ context.Context, _ *scheduling.CycleState, request *scheduling.InferenceRequest, pods []scheduling.Endpoint) map[scheduling.Endpoint]float64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.pods = float64(len(pods))
	values := make([]float64, len(pods))
	for i, pod := range pods {
		to := s.replica(pod.GetMetadata())
		to.chance = rand.Float64()
		values[i] = Score(s.state, to.fields, s.shown(request, pod, to))
	}
	sorted := append([]float64(nil), values...)
	sort.Float64s(sorted)
	scores := make(map[scheduling.Endpoint]float64, len(pods))
	for i, pod := range pods {
		scores[pod] = float64(sort.Search(len(sorted), func(n int) bool { return sorted[n] > values[i] })) / s.pods
	}
	return scores
}

// PreRequest is told where a request goes.
func (s *Scorer) PreRequest(_ context.Context, request *scheduling.InferenceRequest, result *scheduling.SchedulingResult) {
	profile := result.ProfileResults[result.PrimaryProfileName]
	if profile == nil || len(profile.TargetEndpoints) == 0 {
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	pod := profile.TargetEndpoints[0]
	to := s.replica(pod.GetMetadata())
	shown := s.shown(request, pod, to)
	On_dispatch(s.state, to.fields, shown)
	sent := &dispatched{to: to, features: shown, since: time.Now()}
	sent.new = math.Max(shown.Request_prompt-shown.Replica_prefix, 0)
	s.requests[request.RequestID] = sent
	to.mine, to.sent, to.prefill, s.unfinished = to.mine+1, to.sent+1, to.prefill+sent.new, s.unfinished+1
}

// ResponseBody is told of each part of an answer.
func (s *Scorer) ResponseBody(_ context.Context, request *scheduling.InferenceRequest, response *requestcontrol.Response, _ *datalayer.EndpointMetadata) {
	s.lock.Lock()
	defer s.lock.Unlock()
	sent := s.requests[request.RequestID]
	if sent == nil {
		return
	}
	to, shown := sent.to, *sent.features
	shown.Now, shown.Replica_prefix = time.Since(s.start).Seconds(), 0
	shown.Answer_prompt, shown.Answer_predicted = shown.Request_prompt, shown.Request_predicted
	shown.Answer_total, shown.Answer_generated = time.Since(sent.since).Seconds(), 1
	if !sent.began {
		sent.began, sent.ttft = true, shown.Answer_total
		to.prefill -= sent.new
		shown.Answer_ttft = sent.ttft
		s.count(&shown, to)
		On_first_token(s.state, to.fields, &shown)
	}
	if response.EndOfStream {
		delete(s.requests, request.RequestID)
		to.mine, s.unfinished = to.mine-1, s.unfinished-1
		shown.Answer_ttft, shown.Answer_generated = sent.ttft, math.Max(float64(response.Usage.CompletionTokens), 1)
		s.count(&shown, to)
		On_finish(s.state, to.fields, &shown)
	}
}

func (s *Scorer) replica(pod *datalayer.EndpointMetadata) *replica {
	name := pod.NamespacedName.String()
	if s.replicas[name] == nil {
		s.replicas[name] = &replica{number: float64(len(s.replicas)), fields: NewFields()}
	}
	return s.replicas[name]
}

func (s *Scorer) count(shown *Features, to *replica) {
	shown.Replica_mine, shown.Replica_prefill, shown.Replica_sent = to.mine, to.prefill, to.sent
	shown.Router_replicas, shown.Router_unfinished = s.pods, s.unfinished
}

func (s *Scorer) shown(request *scheduling.InferenceRequest, pod scheduling.Endpoint, to *replica) *Features {
	metrics := pod.GetMetrics()
	if metrics.UpdateTime != to.reported {
		to.reported, to.sent = metrics.UpdateTime, 0
	}
	shown := NewFeatures()
	shown.Now = time.Since(s.start).Seconds()
	s.count(shown, to)
	shown.Replica_id, shown.Replica_chance = to.number, to.chance
	shown.Replica_running, shown.Replica_waiting = float64(metrics.RunningRequestsSize), float64(metrics.WaitingQueueSize)
	shown.Replica_used = metrics.KVCacheUsagePercent
	shown.Replica_age_ms = math.Min(1e3*time.Since(metrics.UpdateTime).Seconds(), 1e3*shown.Now)
	shown.Router_capacity = math.Max(float64(metrics.CacheNumBlocks*metrics.CacheBlockSize), 1)
	shown.Request_prompt = math.Max(float64(request.RequestSizeBytes/4), 1)
	if request.Body != nil && request.Body.TokenizedPrompt != nil {
		shown.Request_prompt = math.Max(float64(len(request.Body.TokenizedPrompt.TokenIDs)), 1)
	}
	if found, ok := pod.Get(prefix.PrefixCacheMatchInfoKey); ok {
		if match, ok := found.(*prefix.PrefixCacheMatchInfo); ok {
			shown.Replica_prefix = math.Min(float64(match.MatchBlocks()*match.BlockSizeTokens()), shown.Request_prompt)
		}
	}
	shown.Request_priority = float64(request.Objectives.Priority)
	shown.Request_predicted = given(request, "x-vulcan-predicted", 0)
	shown.Request_kind = given(request, "x-vulcan-kind", 0)
	shown.Request_session = given(request, "x-vulcan-session", 0)
	shown.Request_turn = given(request, "x-vulcan-turn", 1)
	shown.Request_ttft_goal = given(request, "x-slo-ttft-ms", 0) / 1e3
	shown.Request_tpot_goal = given(request, "x-slo-tpot-ms", 0) / 1e3
	return shown
}

func given(request *scheduling.InferenceRequest, header string, otherwise float64) float64 {
	value, err := strconv.ParseFloat(request.Headers[header], 64)
	if err != nil || !(value >= 0 && value < math.Inf(1)) {
		return otherwise
	}
	return value
}
