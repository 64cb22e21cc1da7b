// Stand-ins for what a scorer uses of llm-d's router (llm-d/llm-d-router, May 2026, pkg/epp/framework), and a run of one.
//
// Each marked line begins a file of the module.

// file: interface/plugin/plugin.go
package plugin

type TypedName struct{ Type, Name string }
type Plugin interface{ TypedName() TypedName }
type Handle interface{}

// file: interface/datalayer/datalayer.go
package datalayer

import "time"

type NamespacedName struct{ Namespace, Name string }

func (n NamespacedName) String() string { return n.Namespace + "/" + n.Name }

type EndpointMetadata struct{ NamespacedName NamespacedName }
type Cloneable interface{ Clone() Cloneable }
type Metrics struct {
	RunningRequestsSize, WaitingQueueSize int
	KVCacheUsagePercent                   float64
	CacheBlockSize, CacheNumBlocks        int
	UpdateTime                            time.Time
}

// file: interface/scheduling/scheduling.go
package scheduling

import (
	"context"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/datalayer"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/plugin"
)

type ScorerCategory string

const Balance ScorerCategory = "Balance"

type CycleState struct{}
type TokenizedPrompt struct{ TokenIDs []uint32 }
type InferenceRequestBody struct{ TokenizedPrompt *TokenizedPrompt }
type RequestObjectives struct{ Priority int }
type InferenceRequest struct {
	RequestID        string
	Body             *InferenceRequestBody
	Headers          map[string]string
	Objectives       RequestObjectives
	RequestSizeBytes int
}
type Endpoint interface {
	GetMetadata() *datalayer.EndpointMetadata
	GetMetrics() *datalayer.Metrics
	Get(string) (datalayer.Cloneable, bool)
}
type ProfileRunResult struct{ TargetEndpoints []Endpoint }
type SchedulingResult struct {
	ProfileResults     map[string]*ProfileRunResult
	PrimaryProfileName string
}
type Scorer interface {
	plugin.Plugin
	Category() ScorerCategory
	Score(context.Context, *CycleState, *InferenceRequest, []Endpoint) map[Endpoint]float64
}

// file: interface/requestcontrol/requestcontrol.go
package requestcontrol

import (
	"context"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/datalayer"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/plugin"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
)

type Usage struct{ CompletionTokens int }
type Response struct {
	StartOfStream, EndOfStream bool
	Usage                      Usage
}
type PreRequest interface {
	plugin.Plugin
	PreRequest(context.Context, *scheduling.InferenceRequest, *scheduling.SchedulingResult)
}
type ResponseBodyProcessor interface {
	plugin.Plugin
	ResponseBody(context.Context, *scheduling.InferenceRequest, *Response, *datalayer.EndpointMetadata)
}

// file: plugins/datalayer/attribute/prefix/prefix.go
package prefix

import "github.com/llm-d/llm-d-router/pkg/epp/framework/interface/datalayer"

const PrefixCacheMatchInfoKey = "PrefixCacheMatchInfoKey"

type PrefixCacheMatchInfo struct{ Match, Total, Block int }

func (p *PrefixCacheMatchInfo) MatchBlocks() int            { return p.Match }
func (p *PrefixCacheMatchInfo) BlockSizeTokens() int        { return p.Block }
func (p *PrefixCacheMatchInfo) Clone() datalayer.Cloneable { return p }

// file: main.go
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/datalayer"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/requestcontrol"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/interface/scheduling"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/plugins/datalayer/attribute/prefix"
	"github.com/llm-d/llm-d-router/pkg/epp/framework/policy"
)

type pod struct {
	Name                    string
	Running, Waiting, Match int
	Used                    float64
}

func (p *pod) GetMetadata() *datalayer.EndpointMetadata {
	return &datalayer.EndpointMetadata{NamespacedName: datalayer.NamespacedName{Namespace: "default", Name: p.Name}}
}

func (p *pod) GetMetrics() *datalayer.Metrics {
	return &datalayer.Metrics{
		RunningRequestsSize: p.Running, WaitingQueueSize: p.Waiting, KVCacheUsagePercent: p.Used, CacheBlockSize: 16,
		CacheNumBlocks: 1000, UpdateTime: time.Unix(1, 0),
	}
}

func (p *pod) Get(string) (datalayer.Cloneable, bool) {
	return &prefix.PrefixCacheMatchInfo{Match: p.Match, Total: 1000, Block: 16}, true
}

type event struct {
	Kind, Request, To          string
	Tokens, Predicted, Written int
	Pods                       []*pod
}

// For each line of events, a request's scores of the pods, or what became of a request.
func main() {
	made, _ := policy.Factory("mine", nil, nil)
	scorer := made.(*policy.Scorer)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			panic(err)
		}
		request := &scheduling.InferenceRequest{
			RequestID: e.Request, RequestSizeBytes: 4 * e.Tokens,
			Headers: map[string]string{"x-vulcan-predicted": strconv.Itoa(e.Predicted)},
		}
		if e.Kind != "send" {
			response := &requestcontrol.Response{EndOfStream: e.Kind == "end", Usage: requestcontrol.Usage{CompletionTokens: e.Written}}
			scorer.ResponseBody(context.TODO(), request, response, nil)
			continue
		}
		endpoints := []scheduling.Endpoint{}
		for _, each := range e.Pods {
			endpoints = append(endpoints, each)
		}
		scores := scorer.Score(context.TODO(), nil, request, endpoints)
		for _, each := range endpoints {
			fmt.Print(scores[each], " ")
			if each.GetMetadata().NamespacedName.Name == e.To {
				profile := map[string]*scheduling.ProfileRunResult{"p": {TargetEndpoints: []scheduling.Endpoint{each}}}
				scorer.PreRequest(context.TODO(), request, &scheduling.SchedulingResult{ProfileResults: profile, PrimaryProfileName: "p"})
			}
		}
		fmt.Println()
	}
}
