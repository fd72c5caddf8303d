"""Short public posts ("tweets"), with comments, retweets and followers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API, Padding

_NONE: list[str] = []  # stands for a new list


class TwitterAPI(API):
    about = "Short public posts, with comments, retweets and followed users."

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        super().__init__(config, padding)
        self.username = config.get("username", "john")
        self.password = config.get("password", "john123")
        self.authenticated = config.get("authenticated", False)
        self.tweets = {int(number): tweet for number, tweet in config.get("tweets", {}).items()}
        self.comments = config.get("comments", {})
        self.retweets = config.get("retweets", {})
        self.following_list = config.get("following_list", ["alice", "bob"])
        self.tweet_counter = config.get("tweet_counter", 0)

    def _authentication_error(self, what: str) -> dict[str, str] | None:
        if self.authenticated:
            return None
        return {"error": f"User not authenticated. Please authenticate before {what}."}

    def _missing_tweet_error(self, tweet_id: int) -> dict[str, str] | None:
        if tweet_id in self.tweets:
            return None
        return {"error": f"Tweet with ID {tweet_id} not found."}

    def authenticate_twitter(self, username: str, password: str) -> Any:
        """Log in to post.

        username: Name of the user.
        password: Password of the user.
        """
        if username == self.username and password == self.password:
            self.authenticated = True
            return {"authentication_status": True}
        return {"authentication_status": False}

    def posting_get_login_status(self) -> Any:
        """Tell whether the user is logged in to post."""
        return {"login_status": bool(self.authenticated)}

    def post_tweet(self, content: str, tags: list[str] = _NONE, mentions: list[str] = _NONE) -> Any:
        """Post a tweet. It needs a login.

        content: The text.
        tags: Tags, each beginning with #, if the user wants some.
        mentions: Mentioned users, each beginning with @, if the user wants some.
        """
        if error := self._authentication_error("posting"):
            return error
        tweet = {
            "id": self.tweet_counter,
            "username": self.username,
            "content": content,
            "tags": [] if tags is _NONE else tags,
            "mentions": [] if mentions is _NONE else mentions,
        }
        self.tweets[self.tweet_counter] = tweet
        self.tweet_counter += 1
        return tweet

    def retweet(self, tweet_id: int) -> Any:
        """Retweet a tweet. It needs a login.

        tweet_id: Number of the tweet.
        """
        if error := self._authentication_error("retweeting") or self._missing_tweet_error(tweet_id):
            return error
        own_retweets = self.retweets.setdefault(self.username, [])
        if tweet_id in own_retweets:
            return {"retweet_status": "Already retweeted"}
        own_retweets.append(tweet_id)
        return {"retweet_status": "Successfully retweeted"}

    def comment(self, tweet_id: int, comment_content: str) -> Any:
        """Comment on a tweet. It needs a login.

        tweet_id: Number of the tweet.
        comment_content: The text of the comment.
        """
        if error := self._authentication_error("commenting") or self._missing_tweet_error(tweet_id):
            return error
        comment = {"username": self.username, "content": comment_content}
        self.comments.setdefault(tweet_id, []).append(comment)
        return {"comment_status": "Comment added successfully"}

    def mention(self, tweet_id: int, mentioned_usernames: list[str]) -> Any:
        """Add mentioned users to a tweet.

        tweet_id: Number of the tweet.
        mentioned_usernames: The users.
        """
        if unknown := self._missing_tweet_error(tweet_id):
            return unknown
        self.tweets[tweet_id]["mentions"].extend(mentioned_usernames)
        return {"mention_status": "Users mentioned successfully"}

    def follow_user(self, username_to_follow: str) -> Any:
        """Follow a user. It needs a login.

        username_to_follow: Name of the user.
        """
        if error := self._authentication_error("following"):
            return error
        if username_to_follow in self.following_list:
            return {"follow_status": False}
        self.following_list.append(username_to_follow)
        return {"follow_status": True}

    def list_all_following(self) -> Any:
        """List the users that are followed. It needs a login."""
        if error := self._authentication_error("listing following"):
            return error
        return {"following_list": self.following_list}

    def unfollow_user(self, username_to_unfollow: str) -> Any:
        """Stop following a user. It needs a login.

        username_to_unfollow: Name of the user.
        """
        if error := self._authentication_error("unfollowing"):
            return error
        if username_to_unfollow not in self.following_list:
            return {"unfollow_status": False}
        self.following_list.remove(username_to_unfollow)
        return {"unfollow_status": True}

    def get_tweet(self, tweet_id: int) -> Any:
        """Show a tweet.

        tweet_id: Number of the tweet.
        """
        return self._missing_tweet_error(tweet_id) or self.tweets[tweet_id]

    def get_user_tweets(self, username: str) -> Any:
        """Show all tweets of a user.

        username: Name of the user.
        """
        return [tweet for tweet in self.tweets.values() if tweet["username"] == username]

    def search_tweets(self, keyword: str) -> Any:
        """Find the tweets whose text contains a word, or which have it as a tag.

        keyword: The word, in capitals or not.
        """
        return [
            tweet
            for tweet in self.tweets.values()
            if keyword.lower() in tweet["content"].lower()
            or keyword.lower() in [tag.lower() for tag in tweet["tags"]]
        ]

    def get_tweet_comments(self, tweet_id: int) -> Any:
        """Show the comments on a tweet.

        tweet_id: Number of the tweet.
        """
        return self._missing_tweet_error(tweet_id) or self.comments.get(tweet_id, [])

    def get_user_stats(self, username: str) -> Any:
        """Count a user's tweets, retweets and followed users.

        username: Name of the user.
        """
        return {
            "tweet_count": len(self.get_user_tweets(username)),
            "following_count": len(self.following_list) if username == self.username else 0,
            "retweet_count": len(self.retweets.get(username, [])),
        }
