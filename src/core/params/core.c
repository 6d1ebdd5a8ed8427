/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/params/param.h"

#include "config.h"
#include "sys/compiler.h"

/* clang-format off */
const struct wf_core_param wf_core_params[] = {
	{ "prefer_sysconfig", FI_PARAM_BOOL, "false",
	  "let " WF_SYSCONFDIR "/libfabric.conf win over the environment where both "
	  "set a variable" },
	{ "log_level", FI_PARAM_STRING, "unset: silent",
	  "most detailed messages to log: warn, trace, info or debug; silent also "
	  "suppresses lines on wrong settings" },
	{ "log_prov", FI_PARAM_STRING, "all",
	  "comma list of providers that may log; a leading ^ turns it into those that "
	  "may not" },
	{ "log_subsys", FI_PARAM_STRING, "all",
	  "comma list of subsystems that may log: core, fabric, domain, ep_ctrl, "
	  "ep_data, av, cq, eq, mr, cntr; a leading ^ turns it into those that may "
	  "not" },
	{ "log_interval", FI_PARAM_INT, "2000",
	  "milliseconds between repetitions of a rate-limited message" },
	{ "log_location", FI_PARAM_STRING, "stderr",
	  "stderr, stdout, a directory to make ofi_<pid>.log in, or a file that does "
	  "not exist yet" },
	{ "log_location_mode", FI_PARAM_INT, "0600",
	  "permissions of a log file that is made" },
	{ "provider", FI_PARAM_STRING, "all",
	  "comma list of providers to offer; a leading ^ turns it into those not to "
	  "offer" },
	{ "provider_path", FI_PARAM_STRING, WF_PROVIDER_DIR,
	  "colon list of directories with loadable providers; a leading @ prefers the "
	  "first found to the newest, +/path/lib.so names a library that beats all of "
	  "its name" },
	{ "hook", FI_PARAM_STRING, "none",
	  "hook providers to put around fabrics, separated by semicolons, in order" },
	{ "addr_format", FI_PARAM_STRING, "any",
	  "offer only interfaces with this address format, such as FI_SOCKADDR_IN" },
	{ "offload_coll_provider", FI_PARAM_STRING, "none",
	  "provider that does the collectives it can, before the engine of the library" },
	{ "universe_size", FI_PARAM_SIZE_T, "none",
	  "no effect: tables grow with the peers that there are" },
	{ "av_remove_cleanup", FI_PARAM_BOOL, "false",
	  "removing an address also closes hidden connections to that peer, which may "
	  "cut transfers the peer still has under way" },
	{ "flush_timeout", FI_PARAM_INT, "5000",
	  "milliseconds that closing an endpoint, and the end of the process, wait at "
	  "most until what was injected or is complete has left; 0: not at all" },
	{ "background_progress", FI_PARAM_BOOL, "yes",
	  "a thread makes progress for accepted operations while the application makes "
	  "no calls; no: they wait for its next call" },
	{ "mr_cache_max_count", FI_PARAM_SIZE_T, "1024",
	  "regions that a cache of registrations may hold; 0: registrations are not "
	  "cached" },
	{ "mr_cache_max_size", FI_PARAM_SIZE_T, "memory / processors / 2",
	  "bytes that a cache of registrations may hold" },
	{ "mr_cache_monitor", FI_PARAM_STRING, "userfaultfd",
	  "what tells caches of registrations that memory went away: userfaultfd, or "
	  "disabled for no caches" },
	{ "fork_unsafe", FI_PARAM_BOOL, "no",
	  "no effect: no provider has memory that a fork endangers" },
};
/* clang-format on */

const size_t wf_core_param_count = WF_ARRAY_SIZE(wf_core_params);
